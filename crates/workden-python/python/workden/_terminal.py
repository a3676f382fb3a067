"""The terminal at which questions are asked: whether it is interactive, a lock for it, and safe output."""

from __future__ import annotations

import sys
import threading

terminal_lock = threading.Lock()
"""Held from a question to its answer, so that an answer belongs to the question shown."""


def is_interactive() -> bool:
    """Whether a person could read a question and answer it."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):
        # A service has no standard streams, or has closed them.
        return False


def escape_control(line: str) -> str:
    """Escapes characters that a terminal would not show literally, so that the approved text is the text shown.

    Covers control characters, characters that change the writing direction, lone surrogates and unusual blanks.
    """
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in line)
