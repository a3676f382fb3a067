"""Result of reading a file."""

from __future__ import annotations

from pydantic import BaseModel, Field

__all__ = ["DEFAULT_MAX_READ_CHARS", "ReadResult"]

DEFAULT_MAX_READ_CHARS = 20_000
"""Default number of characters to read."""


class ReadResult(BaseModel):
    """A part of a text file. Characters are code points."""

    content: str = Field(description="The text")
    truncated: bool = Field(description="Whether more text follows")
    total_chars: int = Field(description="Number of characters in the file")
    offset: int = Field(description="Number of characters before the text")
    chars_read: int = Field(description="Number of characters in the text")
