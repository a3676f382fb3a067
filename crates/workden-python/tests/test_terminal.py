"""Shared parts of terminal questions: detection, safe output, and one question at a time."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace

import pytest

from workden._terminal import is_interactive, terminal_lock, escape_control
from workden.approval import ApprovalDecision, ApprovalRequest, _terminal


def test_a_terminal_is_there_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_interactive()
    for stream in (None, SimpleNamespace(isatty=io.StringIO().isatty)):
        monkeypatch.setattr("sys.stdin", stream)
        assert not is_interactive()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\tgrün 語 🦊 \\x", "\tgrün 語 🦊 \\x"),
        ("\x1b[2J\r\x07\n", "\\x1b[2J\\r\\x07\\n"),
        ("a\u202eb\u200bc\u2028d", "a\\u202eb\\u200bc\\u2028d"),
        ("rm\u00a0-rf \ud800", "rm\\xa0-rf \\ud800"),
    ],
)
def test_characters_that_a_terminal_would_not_show_are_escaped(line: str, shown: str) -> None:
    assert escape_control(line) == shown


def test_a_question_waits_until_another_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    request = ApprovalRequest(tool_name="push", tool_args={}, description="push()")
    decided: list[ApprovalDecision] = []
    with terminal_lock:
        asking = threading.Thread(target=lambda: decided.append(_terminal.prompt(request)))
        asking.start()
        asking.join(0.2)
        assert shown.getvalue() == "" and decided == []
    asking.join(20)
    assert decided == [ApprovalDecision(approved=True)] and "Approval needed: push()" in shown.getvalue()
