"""Asking whoever sits at the terminal."""

from __future__ import annotations

import sys
import threading
import unicodedata
from typing import Any

_MOST_LINES = 40
_one_at_a_time = threading.Lock()


def is_there() -> bool:
    """Whether somebody could read a question and answer it."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def ask(asked: dict[str, Any]) -> bool | None:
    """Puts a question, and waits for the answer; none, if the terminal has gone."""
    lines = [f"The agent wants to {asked['operation']}: {asked['target']}"]
    if asked["reason"]:
        lines.append(f"This has to be approved: {asked['reason']}")
    preview = (asked["preview"] or "").splitlines()
    lines += preview[:_MOST_LINES]
    if len(preview) > _MOST_LINES:
        lines.append(f"... and {len(preview) - _MOST_LINES} more lines")
    question = "\n".join(plain(line) for line in lines)
    with _one_at_a_time:
        print(f"\n{question}\nAllow it? [y/N] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
    return answer.strip().lower() in ("y", "yes") if answer else None


def plain(line: str) -> str:
    """A line without anything that a terminal does not show as it is: what is approved is what is read."""
    return "".join(_shown(letter) for letter in line)


def _shown(letter: str) -> str:
    # Control characters, invisible ones such as those that turn the direction of writing, lone surrogates.
    hides = letter != "\t" and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return letter.encode("unicode_escape").decode() if hides else letter
