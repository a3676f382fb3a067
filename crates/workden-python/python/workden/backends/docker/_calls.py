"""Runs sandbox methods for many sessions: one at a time per session, and never blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workden._event_loop import without_stop_iteration

_THREADS = 64
T = TypeVar("T")


@dataclass
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0


class Calls:
    """Locks, tasks and threads. Objects of an event loop are kept only while they are in use."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._pool: ThreadPoolExecutor | None = None

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncGenerator[None, None]:
        """Holds the lock of a name."""
        turn = self._turns.setdefault(name, _Turn())
        turn.takers += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.takers -= 1
            if turn.takers == 0:
                del self._turns[name]

    def is_anybodys_turn(self, name: str) -> bool:
        """Whether the lock of a name is held."""
        return name in self._turns

    async def answer(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Returns the result of a function: awaited if it is async, otherwise called in a thread."""
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="workden-sessions")
        call = functools.partial(contextvars.copy_context().run, without_stop_iteration(function), *arguments)
        answer = await asyncio.get_running_loop().run_in_executor(self._pool, call)
        return await answer if inspect.isawaitable(answer) else answer

    async def see_through(self, call: Coroutine[Any, Any, T]) -> T:
        """Runs a call that continues if the awaiting task is cancelled."""
        task = asyncio.get_running_loop().create_task(call)
        self._under_way.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            # The awaiting task may be gone: retrieve the exception, so that asyncio does not report it.
            task.exception()

    async def settled(self) -> None:
        """Waits until no call is running."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    def close(self) -> None:
        """Releases the threads. They are created again when needed."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
