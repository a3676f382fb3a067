"""Runs sandbox methods, sync and async, and never blocks the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workden._event_loop import without_stop_iteration

_THREADS = 64


class Calls:
    """Threads for sync methods."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def answer(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Returns the result of a function: awaited if it is async, otherwise called in a thread."""
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="workden-sessions")
        call = functools.partial(contextvars.copy_context().run, without_stop_iteration(function), *arguments)
        answer = await asyncio.get_running_loop().run_in_executor(self._pool, call)
        return await answer if inspect.isawaitable(answer) else answer

    def close(self) -> None:
        """Releases the threads. They are created again when needed."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
