"""The native place underneath a backend, or around it."""

from __future__ import annotations

from typing import Any

from workden._native import Place
from workden._steps import is_native

_METHODS = ("exists", "ls_info", "read_bytes", "read", "write", "edit", "glob_info", "grep_raw")


def place_of(backend: Any) -> Place:
    """The place of one of our own backends. Any other, and one with methods of its own, is asked by its methods."""
    place = getattr(backend, "_place", None)
    is_ours = isinstance(place, Place) and all(is_native(backend, name) for name in _METHODS)
    return place if is_ours else Place.foreign(backend)
