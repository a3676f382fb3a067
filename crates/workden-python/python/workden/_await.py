"""Awaiting where nobody runs an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


def run(awaitable: Awaitable[T]) -> T:
    """What `awaitable` comes to, in a loop of its own. For threads that have none."""

    async def awaited() -> T:
        return await awaitable

    return asyncio.run(awaited())


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """What a function that may wait comes to, beside the loop."""
    return await asyncio.to_thread(unstopped(function), *args, **kwargs)


def unstopped(function: Callable[..., T]) -> Callable[..., T]:
    """The function, for a thread that somebody awaits: a future takes no `StopIteration`, and that one would wait for
    ever."""

    def called(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:
            raise RuntimeError(f"{function!r} raised {error!r}") from error

    return called
