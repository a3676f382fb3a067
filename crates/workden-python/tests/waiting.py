"""Waits for events instead of durations, so that no test depends on the load or on processes of other tests.

The deadlines only end a test that would otherwise hang.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

DEADLINE = 120.0
"""Seconds until an expected event counts as missing."""

LONG = os.environ.get("WORKDEN_TEST_LONG") == "1"
"""Whether loops run with their full counts."""


def until(holds: Callable[[], Any], seconds: float = DEADLINE) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not so after {seconds} s"
        time.sleep(0.01)


async def until_async(holds: Callable[[], Awaitable[Any] | Any], seconds: float = DEADLINE) -> None:
    """Waits until a condition, sync or async, holds, while the event loop runs."""
    end = time.monotonic() + seconds
    while True:
        held = holds()
        if await held if isinstance(held, Awaitable) else held:
            return
        assert time.monotonic() < end, f"not so after {seconds} s"
        await asyncio.sleep(0.01)


def long_sleep() -> str:
    """Returns a command that outlasts every test, and that no other process has on its command line."""
    return f"sleep {random.SystemRandom().randrange(10**8, 10**9)}"


def is_running(command: str) -> bool:
    """Whether a process has this command on its command line."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if command in words.replace("\0", " "):
            return True
    return False


def until_gone(command: str) -> None:
    """Waits until no process has this command on its command line."""
    until(lambda: not is_running(command))


def timed_out(execute: Callable[[float], Any], printed: str) -> Any:
    """Returns the result of a command that timed out after it printed something. It gets more time on a busy machine."""
    for seconds in (0.5, 5, 50):
        ran = execute(seconds)
        if printed in ran.output:
            break
    return ran


def children() -> set[int]:
    """Returns the child processes of this process."""
    return {int(pid) for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}
