"""The native tools over each backend that a toolset meets: what the model has read there is remembered with them.

They are kept as long as the backend is, and do not keep it: a Python backend is known to them by a weak
reference, because whatever the native half holds is out of sight of Python's garbage collection.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

from workden._native import Place, Tools
from workden._place_of import own_place, unwrapped
from workden.toolsets import _texts

_MOST_HELD = 16
"""Backends that are kept although nothing can be told of their end: the oldest make room."""

Asked = Literal["as_policy", "always"]


def _place_of(backend: Any) -> Place:
    """Where a backend works: its own place, or whatever its methods do."""
    backend = unwrapped(backend)
    own = own_place(backend)
    if own is not None:
        return own
    try:
        called = weakref.proxy(backend)
    except TypeError:
        called = backend
    return Place.foreign(called)


class Offered:
    """The tools over one backend, and what a model is told of them."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.specs = _texts.specs(tools)


_Tools = tuple[Place, dict[tuple[int, Asked], Offered]]
"""A place, and the tools over it, by process and by what is asked about."""


class Met:
    """The tools over each backend."""

    def __init__(self, options: dict[str, Any], rules: str | None) -> None:
        self._options = options
        self._rules = rules
        self._lock = threading.Lock()
        self._known: dict[int, tuple[Callable[[], Any], _Tools]] = {}
        self._held: list[int] = []

    def offered(self, backend: Any, execute: Asked) -> Offered:
        """The tools over a backend, with commands that are asked about as the rules say, or always."""
        # What belongs to one process is of no use in another.
        key = (os.getpid(), execute)
        with self._lock:
            place, known = self._of(backend)
            if key not in known:
                known[key] = Offered(place.tools(json.dumps({**self._options, "execute_approval": execute})))
            return known[key]

    def _of(self, backend: Any) -> _Tools:
        number = id(backend)
        met = self._known.get(number)
        if met is not None and met[0]() is backend:
            return met[1]
        # One place for all of its tools: a command that one of them started is known to the others.
        place = _place_of(backend)
        tools: _Tools = (place if self._rules is None else place.guarded(self._rules), {})
        known = self._known
        try:
            referred: Callable[[], Any] = weakref.ref(backend, lambda _: known.pop(number, None) and None)
        except TypeError:
            referred = _Held(backend)
            self._held.append(number)
            if len(self._held) > _MOST_HELD:
                known.pop(self._held.pop(0), None)
        known[number] = (referred, tools)
        return tools


class _Held:
    """A reference like a weak one, that is not."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value
