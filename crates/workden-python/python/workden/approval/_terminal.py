"""Asks at the terminal about a tool call: yes, no with a reason, or yes for the session."""

from __future__ import annotations

import sys

from workden._terminal import escape_control, is_interactive, terminal_lock
from workden.approval.types import ApprovalDecision, ApprovalRequest

_NO_TERMINAL = (
    "approval requires a terminal, and there is none. The owner of this program can give its ApprovalController an "
    "approval_callback"
)
_CHOICES = "[y]es, [n]o (and why), [s]ame call for the session: "


def prompt(request: ApprovalRequest) -> ApprovalDecision:
    """Shows a request and reads the answer. Without a terminal, or at its end of input, the answer is no."""
    if not is_interactive():
        return ApprovalDecision(approved=False, note=_NO_TERMINAL)
    shown = f"Approval needed: {request.description}" + (f"\n{request.preview}" if request.preview else "")
    with terminal_lock:
        print("\n" + "\n".join(escape_control(line) for line in shown.split("\n")), file=sys.stderr)
        return _answer()


def _answer() -> ApprovalDecision:
    while True:
        print(_CHOICES, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return ApprovalDecision(approved=False, note="the terminal was closed")
        decision = _decision(line.strip())
        if decision is not None:
            return decision


def _decision(answer: str) -> ApprovalDecision | None:
    word, _, rest = answer.partition(" ")
    word, note = word.lower().rstrip(",:"), rest.strip() or None
    if word in ("y", "yes") and note is None:
        return ApprovalDecision(approved=True)
    if word in ("s", "session", "same") and note is None:
        return ApprovalDecision(approved=True, remember="session")
    if word in ("n", "no"):
        return ApprovalDecision(approved=False, note=note)
    return None
