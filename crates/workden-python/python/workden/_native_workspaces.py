"""Returns the native workspace of any backend."""

from __future__ import annotations

from typing import Any

from workden._dual import is_native
from workden._native import NativeWorkspace

_FILES = ("exists", "ls_info", "read_bytes", "read", "write", "edit", "glob_info", "grep_raw")
_COMMANDS = ("execute", "execute_background", "read_background", "kill_background", "list_background")


def native_workspace_of(backend: Any) -> NativeWorkspace:
    """Returns the native workspace of a workden backend. For other backends, and for overridden methods, it calls the
    object."""
    backend = unwrapped(backend)
    if not any(callable(getattr(backend, name, None)) for name in _FILES):
        raise TypeError(f"{backend!r} is not a backend: it lacks methods such as read_bytes and write")
    return own_native_workspace(backend) or NativeWorkspace.foreign(backend)


def unwrapped(backend: Any) -> Any:
    """Returns the backend inside an adapter."""
    inner = getattr(backend, "unwrap", None)
    return unwrapped(inner()) if callable(inner) and not hasattr(backend, "_native") else backend


def own_native_workspace(backend: Any) -> NativeWorkspace | None:
    """Returns the native workspace of a workden backend, unless one of its methods is overridden."""
    native: Any = getattr(backend, "_native", None)
    if not isinstance(native, NativeWorkspace):
        return None
    names = [*_FILES, *(_COMMANDS if native.has_commands() else ())]
    return native if all(is_native(backend, name) for name in names) else None
