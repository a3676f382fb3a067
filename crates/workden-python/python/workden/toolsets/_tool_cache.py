"""Caches the native tools of each backend, which remember the files that a model has read.

An entry lives as long as its backend and does not keep it alive: it refers to a Python backend weakly, because Python's
garbage collector does not see references held by the native module.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

from workden._native import NativeWorkspace, Tools
from workden._native_workspaces import own_native_workspace, unwrapped
from workden.toolsets import _texts

_MAX_STRONG = 16
"""Maximum number of backends that do not support weak references; the oldest are evicted."""

ExecuteApproval = Literal["as_policy", "always"]


def _native_workspace_of(backend: Any) -> NativeWorkspace:
    """Returns the native workspace of a backend, or one that calls its methods."""
    own = own_native_workspace(backend)
    if own is not None:
        return own
    try:
        called = weakref.proxy(backend)
    except TypeError:
        called = backend
    return NativeWorkspace.foreign(called)


class BackendTools:
    """The tools over one backend, with their specifications."""

    def __init__(self, tools: Tools) -> None:
        self.native = tools
        self.specs = _texts.specs(tools)


_Tools = tuple[NativeWorkspace, dict[tuple[int, ExecuteApproval], BackendTools]]
"""A workspace, and the tools over it, by process and by approval of commands."""


class ToolCache:
    """The tools over each backend."""

    def __init__(self, options: dict[str, Any], rules: str | None) -> None:
        self._options = options
        self._rules = rules
        self._lock = threading.Lock()
        self._known: dict[int, tuple[Callable[[], Any], _Tools]] = {}
        self._strong: list[int] = []

    def tools_for(self, backend: Any, execute: ExecuteApproval) -> BackendTools:
        """Returns the tools over a backend. Commands require approval as the rules say, or always."""
        # Native objects do not survive a fork.
        key = (os.getpid(), execute)
        # Different adapters may wrap the same backend.
        backend = unwrapped(backend)
        with self._lock:
            workspace, known = self._entry(backend)
            if key not in known:
                known[key] = BackendTools(workspace.tools(json.dumps({**self._options, "execute_approval": execute})))
            return known[key]

    def _entry(self, backend: Any) -> _Tools:
        number = id(backend)
        met = self._known.get(number)
        if met is not None and met[0]() is backend:
            return met[1]
        # All tools share one workspace, so that background commands are known to all of them.
        workspace = _native_workspace_of(backend)
        tools: _Tools = (workspace if self._rules is None else workspace.guarded(self._rules), {})
        known = self._known
        try:
            referred: Callable[[], Any] = weakref.ref(backend, lambda _: known.pop(number, None) and None)
        except TypeError:
            referred = _StrongReference(backend)
            self._strong.append(number)
            if len(self._strong) > _MAX_STRONG:
                known.pop(self._strong.pop(0), None)
        known[number] = (referred, tools)
        return tools


class _StrongReference:
    """Has the interface of a weak reference, but keeps its object alive."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value
