"""Awaiting where nobody runs an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def run(awaitable: Awaitable[T]) -> T:
    """What `awaitable` comes to, in a loop of its own. For threads that have none."""

    async def awaited() -> T:
        return await awaitable

    return asyncio.run(awaited())
