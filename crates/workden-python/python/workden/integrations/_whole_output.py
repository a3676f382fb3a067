"""Replaces a shortened command output by the whole one, which the sandbox keeps for a while.

The native module shows head and tail of a long output, with a line between them that names the log. deepagents writes
a long result into a file of the backend itself, so it needs all of it.
"""

from __future__ import annotations

import re

from workden._dual import Steps
from workden._native import Failure

MAX_OUTPUT_BYTES = 10 * 1024 * 1024
"""Maximum size of an omitted part that is fetched; deepagents' own sandboxes capture as much."""

_OMITTED = re.compile(r"(?<=\n)\[\.\.\. (\d+) bytes \(\d+ lines\) left out; .*can be read as `(\w+)` \.\.\.\](?=\n)")


def whole_output(shown: str) -> Steps[tuple[str, bool]]:
    """Returns the whole output for a shortened one, and whether it is still shortened."""
    # A command can print such a line, too. The real one is in the middle, and its log starts and ends like the output.
    notes = _OMITTED.finditer(shown)
    note = min(notes, key=lambda note: abs(note.start() + note.end() - len(shown)), default=None)
    if note is None or int(note[1]) > MAX_OUTPUT_BYTES:
        return shown, True
    try:
        whole = yield from _log(note[2])
    except Failure:
        return shown, True
    head, tail = shown[: note.start() - 1], shown[note.end() + 1 :]
    return (whole, False) if whole.startswith(head) and whole.endswith(tail) else (shown, True)


def _log(id: str) -> Steps[str]:
    parts: list[str] = []
    offset = 0
    while True:
        text, next_offset, _ = yield "read_job", (id, offset)
        if next_offset == offset:
            return "".join(parts)
        parts.append(text)
        offset = next_offset
