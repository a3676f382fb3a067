"""Asking whoever sits at the terminal."""

from __future__ import annotations

import sys

from workden.approval.types import ApprovalDecision, ApprovalRequest

_NOBODY = (
    "nobody can be asked: there is no terminal. The owner of this program can give its ApprovalController an "
    "approval_callback"
)
_CHOICES = "[y]es, [n]o (and why), [s]ame call for the session: "


def prompt(request: ApprovalRequest) -> ApprovalDecision:
    """Shows a request and reads the answer. Where there is no terminal, and where it ends, the answer is no."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return ApprovalDecision(approved=False, note=_NOBODY)
    print(f"\nApproval needed: {_plain(request.description)}", file=sys.stderr)
    if request.preview:
        print(_plain(request.preview), file=sys.stderr)
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


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        # None where there are no streams, as in a service; a closed one raises.
        return False


def _plain(text: str) -> str:
    # A name that a model chose must not move the cursor over what the person is to read.
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
