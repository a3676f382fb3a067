"""The native place of a backend, whoever wrote it."""

from __future__ import annotations

from typing import Any

from workden._native import Place
from workden._steps import is_native

_FILES = ("exists", "ls_info", "read_bytes", "read", "write", "edit", "glob_info", "grep_raw")
_COMMANDS = ("execute", "execute_background", "read_background", "kill_background", "list_background")


def place_of(backend: Any) -> Place:
    """That of a backend of ours; for any other, and for one whose methods somebody overrode, one that calls it."""
    backend = unwrapped(backend)
    if not any(callable(getattr(backend, name, None)) for name in _FILES):
        raise TypeError(f"{backend!r} is no backend: a backend has methods such as read_bytes and write")
    return own_place(backend) or Place.foreign(backend)


def unwrapped(backend: Any) -> Any:
    """What is inside of an adapter."""
    inner = getattr(backend, "unwrap", None)
    return unwrapped(inner()) if callable(inner) and not hasattr(backend, "_place") else backend


def own_place(backend: Any) -> Place | None:
    """That of a backend of ours, if all of its methods are ours."""
    place: Any = getattr(backend, "_place", None)
    if not isinstance(place, Place):
        return None
    names = [*_FILES, *(_COMMANDS if place.has_commands() else ())]
    return place if all(is_native(backend, name) for name in names) else None
