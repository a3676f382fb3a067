"""The console: mistakes, refusals and failures are answers, which never end a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from scripted import Deps, PlainBackend, PlainSandbox, Script, answers, awaited, run

from workden.backends.linux import LinuxSandbox
from workden.backends.local import LocalBackend
from workden.permissions import OperationPermissions, PermissionRule, PermissionRuleset
from workden.toolsets.console import create_console_toolset


async def test_a_mistake_can_be_put_right_and_is_an_answer_in_the_end(local: LocalBackend) -> None:
    script = Script([("read_file", {"path": "nope"})] * 3 + [("read_file", {"nonsense": 1}), ("ls", {})])
    result = await script.agent(create_console_toolset(max_retries=1)).run("go", deps=Deps(local))
    requests = [message for message in result.all_messages() if isinstance(message, ModelRequest)]
    parts = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
    # An answer resets the retries: the next mistake starts from zero.
    assert [part.retry is not None for part in parts] == [True, False, True, False, False]
    assert all("Error: File 'nope' not found" in part.content for part in parts[:3])
    assert "read_file has no argument `nonsense`" in parts[3].content


async def test_arguments_that_are_none_go_back_to_the_model(local: LocalBackend) -> None:
    script = Script([("ls", "[1]"), ("ls", {"path": 3}), ("ls", {})])
    result = await script.agent(create_console_toolset(max_retries=2)).run("go", deps=Deps(local))
    assert answers(result.all_messages())[-1] == "Directory '.' is empty or does not exist"
    with pytest.raises(UnexpectedModelBehavior):
        await Script([("ls", "[1]")]).agent(create_console_toolset(max_retries=0)).run("go", deps=Deps(local))


async def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/.env", action="deny")])
    )
    (tmp_path / ".env").write_text("KEY=1")
    for backend, toolset in [
        (LocalBackend(root_dir=tmp_path, permissions=rules), create_console_toolset()),
        (LocalBackend(root_dir=tmp_path), create_console_toolset(permissions=rules)),
    ]:
        read, searched = await run(
            toolset, backend, ("read_file", {"path": ".env"}), ("grep", {"pattern": "KEY", "ignore_hidden": False})
        )
        assert read.startswith("Error: cannot read `") and "denies it" in read
        assert searched == "No matches for 'KEY'"


async def test_rules_of_a_toolset_hold_for_commands(tmp_path: Path) -> None:
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/.env", action="deny")])
    )
    (tmp_path / ".env").write_text("KEY=1")
    # No rule about command lines sees which file the script reads.
    (tmp_path / "read.sh").write_text('for name in .e*; do cat "$name"; done')
    command = ("execute", {"command": "sh read.sh"})
    with LinuxSandbox(tmp_path) as sandbox:
        (masked,) = await run(create_console_toolset(permissions=rules), sandbox, command)
        assert "Permission denied" in masked and "KEY" not in masked
    with LinuxSandbox(tmp_path) as sandbox:
        assert sandbox.execute("sh read.sh").output == "KEY=1"
        (refused,) = await run(create_console_toolset(permissions=rules), sandbox, command)
        assert "started before this policy" in refused and "KEY" not in refused


async def test_rules_hold_for_a_custom_backend() -> None:
    plain = PlainBackend(a_dot_txt="fine", b_dot_key="secret")
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/*.key", action="deny")])
    )
    read, searched = await run(
        create_console_toolset(permissions=rules), plain, ("read_file", {"path": "b.key"}), ("grep", {"pattern": "e"})
    )
    assert "denies it" in read and searched == "Files containing 'e':\n  /a.txt"
    assert "read /b.key" not in plain.called


@pytest.mark.parametrize("later", [False, True])
async def test_an_exception_of_a_backend_is_an_answer(later: bool) -> None:
    class Broken(PlainSandbox):
        work_dir = "/"

        def read_bytes(self, path: str) -> bytes:
            raise RuntimeError("the disk is gone")

        def execute(self, command: str, timeout: int | None = None) -> Any:
            return "no response at all"

    backend = awaited(Broken()) if later else Broken()
    read, ran = await run(create_console_toolset(), backend, ("read_file", {"path": "a"}), ("execute", {"command": "x"}))
    assert "RuntimeError: the disk is gone" in read
    assert ran.startswith("Error: the backend failed in `execute`: AttributeError")


async def test_an_unexpected_exception_is_an_answer(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    toolset = create_console_toolset()
    monkeypatch.setattr("workden.toolsets._toolset._as_json", fail)
    assert await run(toolset, local, ("ls", {})) == ["Error: RuntimeError: unforeseen"]
