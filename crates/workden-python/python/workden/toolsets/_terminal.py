"""Asks yes or no at the terminal without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import select
import sys
import threading
from typing import Any

from workden._terminal import escape_control, terminal_lock

_MOST_LINES = 40
_POLL_SECONDS = 0.2
"""Seconds between checks whether the question was abandoned."""


async def answer(asked: dict[str, Any]) -> bool | None:
    """Asks a question and returns the answer; `None` if the terminal has closed. Cancelling it frees the terminal."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bool | None] = loop.create_future()
    given_up = threading.Event()

    def told(said: bool | None) -> None:
        if not answered.done():
            answered.set_result(said)

    def wait() -> None:
        said = ask(asked, given_up)
        # The event loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(told, said)

    # A daemon thread: Python does not wait for it at exit, so Ctrl-C at the question ends the program.
    threading.Thread(target=wait, name="workden-terminal", daemon=True).start()
    try:
        return await answered
    finally:
        given_up.set()


def ask(asked: dict[str, Any], given_up: threading.Event) -> bool | None:
    """Shows a question, and waits for the answer until the question is abandoned."""
    lines = [f"The agent wants to {asked['operation']}: {asked['target']}"]
    if asked["reason"]:
        lines.append(f"Approval required: {asked['reason']}")
    preview = (asked["preview"] or "").splitlines()
    lines += [f"| {line}" for line in preview[:_MOST_LINES]]
    unseen = [asked["left_out"]] if asked["left_out"] else []
    if len(preview) > _MOST_LINES:
        unseen.append(f"{len(preview) - _MOST_LINES} lines of the diff")
    # First, and without the mark of a preview, so that no content can pretend it.
    if unseen:
        lines.insert(0, f"CAREFUL: not shown are {' and '.join(unseen)}")
    question = "\n".join(escape_control(line) for line in lines)
    with terminal_lock:
        print(f"\n{question}\nAllow it? [y/N] ", end="", file=sys.stderr, flush=True)
        has_answer = False
        while not has_answer:
            has_answer = bool(select.select([sys.stdin], [], [], _POLL_SECONDS)[0])
            # Later input belongs to another question.
            if given_up.is_set():
                return None
        said = sys.stdin.readline()
    return said.strip().lower() in ("y", "yes") if said else None
