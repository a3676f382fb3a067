"""What is asked at the terminal about a call of a tool: yes, no and why, or yes for the session."""

from __future__ import annotations

import sys

from workden._terminal import is_there, one_at_a_time, plain
from workden.approval.types import ApprovalDecision, ApprovalRequest

_NOBODY = (
    "nobody can be asked: there is no terminal. The owner of this program can give its ApprovalController an "
    "approval_callback"
)
_CHOICES = "[y]es, [n]o (and why), [s]ame call for the session: "


def prompt(request: ApprovalRequest) -> ApprovalDecision:
    """Shows a request and reads the answer. Where there is no terminal, and where it ends, the answer is no."""
    if not is_there():
        return ApprovalDecision(approved=False, note=_NOBODY)
    shown = f"Approval needed: {request.description}" + (f"\n{request.preview}" if request.preview else "")
    with one_at_a_time:
        print("\n" + "\n".join(plain(line) for line in shown.split("\n")), file=sys.stderr)
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
