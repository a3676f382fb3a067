"""The native place of a backend, whoever wrote it."""

from __future__ import annotations

from typing import Any

from workden._native import Place
from workden._steps import is_native

_FILES = ("exists", "ls_info", "read_bytes", "read", "write", "edit", "glob_info", "grep_raw")
_COMMANDS = ("execute", "execute_background", "read_background", "kill_background", "list_background")


def place_of(backend: Any) -> Place:
    """That of a backend of ours; for any other, and for one whose methods somebody overrode, one that calls it."""
    place = getattr(backend, "_place", None)
    if isinstance(place, Place):
        names = [*_FILES, *(_COMMANDS if place.has_commands() else ())]
        if all(is_native(backend, name) for name in names):
            return place
    unwrapped = getattr(backend, "unwrap", None)
    if callable(unwrapped) and place is None:
        return place_of(unwrapped())
    return Place.foreign(backend)
