"""Calls of what somebody else wrote, for as many sessions as there are: each in its turn, none on the event loop."""

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

from workden._await import unstopped

_THREADS = 64
T = TypeVar("T")


@dataclass
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0


class Calls:
    """Turns, tasks and threads. Nothing of an event loop is kept longer than somebody uses it."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._pool: ThreadPoolExecutor | None = None

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncGenerator[None, None]:
        """While it is somebody's turn with a name, all others who want one wait."""
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
        """Whether something is being done with it."""
        return name in self._turns

    async def answer(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function answers: awaited if it is async, and otherwise called where it may take its time."""
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="workden-sessions")
        call = functools.partial(contextvars.copy_context().run, unstopped(function), *arguments)
        answer = await asyncio.get_running_loop().run_in_executor(self._pool, call)
        return await answer if inspect.isawaitable(answer) else answer

    async def see_through(self, call: Coroutine[Any, Any, T]) -> T:
        """What a call comes to, which goes on if whoever awaits this is cancelled."""
        task = asyncio.get_running_loop().create_task(call)
        self._under_way.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            # If nobody waits any more, nobody else would look at it.
            task.exception()

    async def settled(self) -> None:
        """Waits until nothing is under way."""
        while self._under_way:
            await asyncio.wait(set(self._under_way))

    def close(self) -> None:
        """Lets go of the threads. They are there again when they are needed."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
