"""What reading a file comes to."""

from __future__ import annotations

from pydantic import BaseModel, Field

__all__ = ["DEFAULT_MAX_READ_CHARS", "ReadResult"]

DEFAULT_MAX_READ_CHARS = 20_000
"""How many characters are read if nothing is said."""


class ReadResult(BaseModel):
    """A part of a text file. Characters are code points."""

    content: str = Field(description="The text")
    truncated: bool = Field(description="Whether there is more after it")
    total_chars: int = Field(description="How many characters the file has")
    offset: int = Field(description="How many characters come before the text")
    chars_read: int = Field(description="How many characters the text has")
