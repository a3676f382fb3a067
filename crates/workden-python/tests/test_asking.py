"""Approval callbacks of backends that are called directly, and the messages of refusals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from workden import FilesystemBackend, LocalBackend, PermissionAskError, PermissionRuleset
from workden._event_loop import run
from workden.permissions import DEFAULT_RULESET, OperationPermissions, PermissionChecker, READONLY_RULESET


class Asked:
    """A callback that records its questions."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.questions: list[tuple[Any, ...]] = []

    def now(self, *question: Any) -> bool:
        self.questions.append(question)
        return self.answer

    async def later(self, *question: Any) -> bool:
        await asyncio.sleep(0)
        return self.now(*question)


@pytest.mark.parametrize("way", ["now", "later"])
def test_the_callback_is_really_called(tmp_path: Path, way: str) -> None:
    callback = Asked(True)
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=getattr(callback, way))
    assert backend.write("x.txt", "1").error is None and backend.read("x.txt") == "     1\t1"
    assert backend.execute("echo hi").output == "hi\n"
    operations = [question[0] for question in callback.questions]
    assert operations == ["write", "execute"] and callback.questions[0][1] == str(tmp_path / "x.txt")
    assert callback.questions[1][1] == "echo hi"


async def test_it_is_called_where_the_call_is_awaited(tmp_path: Path) -> None:
    callback = Asked(True)
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=callback.later)
    assert (await backend.async_execute("echo hi")).output == "hi\n" and len(callback.questions) == 1


def test_a_no_is_a_no(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=Asked(False).now)
    assert str(backend.write("x.txt", "1").error).startswith("Permission denied for write on ")
    assert not (tmp_path / "x.txt").exists()
    refused = backend.execute("echo hi")
    assert refused.exit_code == 1 and refused.output.startswith("Error: Permission denied")
    with pytest.raises(PermissionError, match="Permission denied"):
        backend.execute_background("echo hi")


class Decision:
    approved = False


@pytest.mark.parametrize("answer", ["no", (False, "not now"), Decision(), [False]])
def test_only_a_yes_is_a_yes(tmp_path: Path, answer: Any) -> None:
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=lambda *_: answer)
    assert str(backend.write("x.txt", "1").error).startswith("Permission denied for write on ")
    assert not (tmp_path / "x.txt").exists()
    with pytest.raises(TypeError, match="True or False"):
        run(PermissionChecker(DEFAULT_RULESET, lambda *_: answer).check("write", "/x.txt"))


def test_a_callback_that_raises_stop_iteration_blocks_no_call(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=lambda *_: next(iter([])))
    assert str(backend.write("x.txt", "1").error).startswith("Permission denied for write on ")


def test_without_a_callback_the_fallback_raises_or_refuses(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET)
    with pytest.raises(PermissionAskError, match="Approval required but no callback"):
        backend.write("x.txt", "1")
    with pytest.raises(PermissionAskError):
        backend.execute("echo hi")
    quiet = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_fallback="deny")
    assert quiet.write("x.txt", "1").error == f"Permission denied for write on '{tmp_path}/x.txt' (approval required)"
    assert quiet.execute("echo hi").output == "Error: Permission denied for execute on 'echo hi' (approval required)"
    assert list(tmp_path.iterdir()) == []


def test_a_denial_holds_for_every_operation(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    backend = LocalBackend(tmp_path, permissions=READONLY_RULESET)
    assert backend.permissions is READONLY_RULESET and backend.permission_checker is backend.permission_checker
    assert backend.permission_checker.is_denied("read", "/w/.env")  # type: ignore[union-attr]
    assert backend.read(".env") == "Error: Permission denied: Protect sensitive files"
    assert backend.read_bytes(".env") == b"" and backend.grep_raw("KEY", ignore_hidden=False) == []
    assert backend.grep_raw("KEY", ".env") in ([], "Error: Permission denied: Protect sensitive files")
    assert str(backend.write("x", "1").error).startswith("Permission denied")
    assert backend.execute("cat .env").exit_code == 1
    open_rules = PermissionRuleset(default="allow", execute=OperationPermissions(default="allow"))
    assert LocalBackend(tmp_path, permissions=open_rules).execute("echo $HOME").exit_code == 0


def test_a_callback_that_fails_is_no_yes(tmp_path: Path) -> None:
    def fails(*_: Any) -> bool:
        raise RuntimeError("out to lunch")

    backend = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_callback=fails)  # type: ignore[arg-type]
    assert backend.write("x.txt", "1").error and not (tmp_path / "x.txt").exists()


def test_awaiting_without_a_loop() -> None:
    async def answer() -> int:
        return 42

    assert run(answer()) == 42


def test_the_directory_of_a_tree_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^Root directory does not exist: "):
        FilesystemBackend(tmp_path / "new")
    assert FilesystemBackend(tmp_path / "new", virtual_mode=True).root_dir == tmp_path / "new"
