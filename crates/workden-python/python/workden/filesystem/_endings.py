"""The ending of a file's name, and whether a list of endings allows it. The same as the native half has it."""

from __future__ import annotations

from collections.abc import Sequence


def ending(name: str) -> str:
    """The last ending of a name in lower case, with its dot. A leading dot makes a hidden file, not an ending."""
    stem = name.lower().lstrip(".")
    at = stem.rfind(".")
    return stem[at:] if 0 <= at < len(stem) - 1 else ""


def allows(suffixes: Sequence[str] | None, name: str) -> bool:
    """Whether a file of this name is allowed: `md` is `.md`, and an empty one stands for names without an ending."""
    if suffixes is None:
        return True
    stem = name.lower().lstrip(".")
    for suffix in suffixes:
        bare = suffix.lstrip(".").lower()
        if stem.endswith(f".{bare}") if bare else not ending(name):
            return True
    return False
