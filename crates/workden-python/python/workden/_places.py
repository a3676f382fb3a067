"""Returns the native place of any backend."""

from __future__ import annotations

from typing import Any

from workden._dual import is_native
from workden._native import Place

_FILES = ("exists", "ls_info", "read_bytes", "read", "write", "edit", "glob_info", "grep_raw")
_COMMANDS = ("execute", "execute_background", "read_background", "kill_background", "list_background")


def place_of(backend: Any) -> Place:
    """Returns the native place of a workden backend. For other backends, and for overridden methods, it calls the
    object."""
    backend = unwrapped(backend)
    if not any(callable(getattr(backend, name, None)) for name in _FILES):
        raise TypeError(f"{backend!r} is not a backend: it lacks methods such as read_bytes and write")
    return own_place(backend) or Place.foreign(backend)


def unwrapped(backend: Any) -> Any:
    """Returns the backend inside an adapter."""
    inner = getattr(backend, "unwrap", None)
    return unwrapped(inner()) if callable(inner) and not hasattr(backend, "_place") else backend


def own_place(backend: Any) -> Place | None:
    """Returns the native place of a workden backend, unless one of its methods is overridden."""
    place: Any = getattr(backend, "_place", None)
    if not isinstance(place, Place):
        return None
    names = [*_FILES, *(_COMMANDS if place.has_commands() else ())]
    return place if all(is_native(backend, name) for name in names) else None
