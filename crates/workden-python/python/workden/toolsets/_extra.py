"""What is said when Pydantic AI is not installed."""

from __future__ import annotations


def missing(error: ImportError) -> ImportError:
    """The same, with what to do about it; or as it is, if it is something else that is missing."""
    if (error.name or "").partition(".")[0] != "pydantic_ai":
        return error
    said = "this needs Pydantic AI, which is not installed: pip install 'workden[console]'"
    return ImportError(said, name=error.name)
