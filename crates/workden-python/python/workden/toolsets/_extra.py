"""Error for a missing Pydantic AI installation."""

from __future__ import annotations


def missing(error: ImportError) -> ImportError:
    """Adds the installation command if Pydantic AI is missing; returns other import errors unchanged."""
    if (error.name or "").partition(".")[0] != "pydantic_ai":
        return error
    said = "Pydantic AI is not installed: pip install 'workden[console]'"
    return ImportError(said, name=error.name)
