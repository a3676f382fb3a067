"""The terminal, for all who ask somebody at it: whether it is there, whose turn it is, and what is shown on it."""

from __future__ import annotations

import sys
import threading

one_at_a_time = threading.Lock()
"""Held from a question to its answer, so that nobody answers one and means another."""


def is_there() -> bool:
    """Whether somebody could read a question and answer it."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):
        # There are none, as in a service, or they are closed.
        return False


def plain(line: str) -> str:
    """A line without anything that a terminal does not show as it is: what is approved is what is read.

    Control characters, those that turn the direction of writing, lone surrogates, and blanks that are none.
    """
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in line)
