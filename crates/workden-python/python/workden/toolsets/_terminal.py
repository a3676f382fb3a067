"""What the console asks at the terminal: yes or no, while other things go on."""

from __future__ import annotations

import asyncio
import contextlib
import select
import sys
import threading
from typing import Any

from workden._terminal import one_at_a_time, plain

_MOST_LINES = 40
_PATIENCE = 0.2
"""Seconds after which it is seen that a question was given up."""


async def answer(asked: dict[str, Any]) -> bool | None:
    """What somebody says to a question; none, if the terminal has gone. Whoever gives up leaves nobody waiting."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bool | None] = loop.create_future()
    given_up = threading.Event()

    def told(said: bool | None) -> None:
        if not answered.done():
            answered.set_result(said)

    def wait() -> None:
        said = ask(asked, given_up)
        # The loop may have been closed meanwhile: then nobody wants to know.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(told, said)

    # Not one of the threads that Python waits for at its end: Ctrl-C at the question ends the program.
    threading.Thread(target=wait, name="workden-terminal", daemon=True).start()
    try:
        return await answered
    finally:
        given_up.set()


def ask(asked: dict[str, Any], given_up: threading.Event) -> bool | None:
    """Puts a question, and waits for the answer until it is given up."""
    lines = [f"The agent wants to {asked['operation']}: {asked['target']}"]
    if asked["reason"]:
        lines.append(f"This has to be approved: {asked['reason']}")
    preview = (asked["preview"] or "").splitlines()
    lines += preview[:_MOST_LINES]
    if len(preview) > _MOST_LINES:
        lines.append(f"... and {len(preview) - _MOST_LINES} more lines")
    question = "\n".join(plain(line) for line in lines)
    with one_at_a_time:
        print(f"\n{question}\nAllow it? [y/N] ", end="", file=sys.stderr, flush=True)
        has_answer = False
        while not has_answer:
            has_answer = bool(select.select([sys.stdin], [], [], _PATIENCE)[0])
            # What is typed after that is for somebody else.
            if given_up.is_set():
                return None
        said = sys.stdin.readline()
    return said.strip().lower() in ("y", "yes") if said else None
