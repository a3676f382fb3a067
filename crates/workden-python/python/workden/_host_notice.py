"""Logs once per process that commands run on the host, and what to pass instead."""

from __future__ import annotations

import contextlib

# Popped by the first thread. A lock could be held by another thread during a fork.
_pending = [
    "LocalBackend runs commands on the host, with the rights of this process: "
    'pass isolation="linux" to run them in a sandbox, or enable_execute=False for files only'
]


def is_given() -> bool:
    """Whether this process has logged the notice."""
    return not _pending


def give() -> None:
    """Logs the notice, the first time."""
    with contextlib.suppress(IndexError):
        notice = _pending.pop()
        import logging

        logging.getLogger("workden").warning(notice)
