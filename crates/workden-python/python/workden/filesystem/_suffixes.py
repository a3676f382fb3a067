"""Suffixes of file names, with the same rules as in the native module."""

from __future__ import annotations

from collections.abc import Sequence


def suffix_of(name: str) -> str:
    """Returns the last suffix of a name in lower case, with its dot. A leading dot marks a hidden file, not a
    suffix."""
    stem = name.lower().lstrip(".")
    at = stem.rfind(".")
    return stem[at:] if 0 <= at < len(stem) - 1 else ""


def allows(suffixes: Sequence[str] | None, name: str) -> bool:
    """Whether the suffixes allow a name: `md` means `.md`, and an empty one allows names without a suffix."""
    if suffixes is None:
        return True
    stem = name.lower().lstrip(".")
    for suffix in suffixes:
        bare = suffix.lstrip(".").lower()
        if stem.endswith(f".{bare}") if bare else not suffix_of(name):
            return True
    return False
