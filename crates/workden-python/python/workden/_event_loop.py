"""Runs awaitables without a running event loop, and blocking functions beside one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


def run(awaitable: Awaitable[T]) -> T:
    """Runs an awaitable in a new event loop, for threads without one."""

    async def awaited() -> T:
        return await awaitable

    return asyncio.run(awaited())


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Runs a blocking function in a thread."""
    return await asyncio.to_thread(without_stop_iteration(function), *args, **kwargs)


def without_stop_iteration(function: Callable[..., T]) -> Callable[..., T]:
    """Wraps a function for use in a thread: a future does not accept `StopIteration`, and its awaiter would hang."""

    def called(*args: Any, **kwargs: Any) -> T:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:
            raise RuntimeError(f"{function!r} raised {error!r}") from error

    return called
