"""A path that changes between approval and use: files that require approval are asked about again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.tools import ToolApproved
from pydantic_ai.toolsets import FunctionToolset
from scripted import Script
from workden.approval import ApprovalDecision, ApprovalRequest, ApprovalResult, ApprovalToolset
from workden.filesystem import ApprovableFileSystemToolset, Mount, PathConfig, Sandbox, SandboxConfig

CTX: Any = SimpleNamespace(retry=0, max_retries=0, agent=None, tool_call_approved=False)


class Asked:
    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.requests.append(request)
        return ApprovalDecision(approved=False, note="no")


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "delete_file", "copy_file"])
async def test_a_link_that_is_exchanged_after_the_look(tmp_path: Path, name: str) -> None:
    free, guarded = tmp_path / "free", tmp_path / "guarded"
    for directory in (free / "inside", guarded):
        directory.mkdir(parents=True)
        (directory / "f").write_text("text")
    (free / "inner").mkdir()
    (free / "link").symlink_to("inside")

    class Exchanged(ApprovableFileSystemToolset):
        def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: Any) -> ApprovalResult:
            result = super().needs_approval(name, tool_args, ctx)
            assert result.is_pre_approved
            (free / "link").unlink()
            (free / "link").symlink_to("inner")
            return result

    sandbox = Sandbox(
        SandboxConfig(
            mounts=[
                Mount(host_path=free, mount_point="/free", mode="rw", write_approval=False),
                Mount(host_path=guarded, mount_point="/free/inner", mode="rw", write_approval=True, read_approval=True),
            ]
        )
    )
    arguments = {
        "write_file": {"path": "/free/link/f", "content": "other"},
        "edit_file": {"path": "/free/link/f", "old_text": "text", "new_text": "other"},
        "copy_file": {"source": "/free/link/f", "destination": "/free/copy"},
    }
    asked = Asked()
    tools = ApprovalToolset(Exchanged(sandbox), asked)
    answer = await tools.call_tool(name, arguments.get(name, {"path": "/free/link/f"}), CTX, None)  # type: ignore[arg-type]
    assert answer == f"User denied {name}: no" and len(asked.requests) == 1
    assert (guarded / "f").read_text() == "text" and not (free / "copy").exists()


WRITE = ("write_file", {"path": "d/a.txt", "content": "new"})
DELETE = ("delete_file", {"path": "d/a.txt"})


def change(directory: Path) -> None:
    (directory / "a.txt").write_text("something else")


def exchange(directory: Path) -> None:
    (directory / "a.txt").unlink()
    (directory / "a.txt").symlink_to("other.txt")


def nothing(directory: Path) -> None:
    """Does nothing."""


@pytest.mark.parametrize("hands_on", [False, True])
@pytest.mark.parametrize("call", [WRITE, DELETE])
@pytest.mark.parametrize("between", [change, exchange, nothing])
async def test_an_approval_that_comes_later_is_for_what_was_asked_about(
    tmp_path: Path, hands_on: bool, call: Any, between: Callable[[Path], None]
) -> None:
    for name in ("a.txt", "other.txt"):
        (tmp_path / name).write_text("the same")

    def agent() -> Agent[Any, Any]:
        sandbox = Sandbox(SandboxConfig(paths={"d": PathConfig(root=tmp_path, mode="rw", write_approval=True)}))
        tools = ApprovalToolset(ApprovableFileSystemToolset(sandbox))
        return Script([call]).agent(tools, output_type=[str, DeferredToolRequests])

    asking = agent()
    first = await asking.run("go")
    between(tmp_path)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    # The answer may arrive in another process, which has no memory of the question: then it carries the question.
    answers = DeferredToolResults(approvals={"call-0": True}, metadata=first.output.metadata if hands_on else {})
    second = await (agent() if hands_on else asking).run(message_history=first.all_messages(), deferred_tool_results=answers)
    after = {path.name: path.read_text() for path in tmp_path.iterdir()}
    if between is nothing:
        assert second.output == "done" and after != before
    else:
        assert isinstance(second.output, DeferredToolRequests) and after == before


async def test_an_approval_may_change_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    sandbox = Sandbox(SandboxConfig(paths={"d": PathConfig(root=tmp_path, mode="rw", write_approval=True)}))
    agent = Script([WRITE]).agent(
        ApprovalToolset(ApprovableFileSystemToolset(sandbox)), output_type=[str, DeferredToolRequests]
    )
    first = await agent.run("go")
    changed = ToolApproved(override_args={"path": "d/b.txt", "content": "other"})
    answers = DeferredToolResults(approvals={"call-0": changed})
    await agent.run(message_history=first.all_messages(), deferred_tool_results=answers)
    assert (tmp_path / "b.txt").read_text() == "other" and (tmp_path / "a.txt").read_text() == "old"


def test_unanswered_questions_are_forgotten() -> None:
    tools = ApprovalToolset(FunctionToolset())
    for n in range(1100):
        tools._remember(SimpleNamespace(tool_call_id=f"call-{n}"), {})  # type: ignore[arg-type]
    assert len(tools._questions) == 1000 and "call-0" not in tools._questions


@pytest.mark.parametrize(("reads", "writes"), list(itertools.product([False, True], repeat=2)))
async def test_pre_approved_calls_are_not_asked_about(tmp_path: Path, reads: bool, writes: bool) -> None:
    config = SandboxConfig(
        mounts=[Mount(host_path=tmp_path, mount_point="/d", mode="rw", read_approval=reads, write_approval=writes)]
    )
    inner, asked = ApprovableFileSystemToolset(Sandbox(config)), Asked()
    tools = ApprovalToolset(inner, asked)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_files", {"path": "/d"}),
        ("read_file", {"path": "/d/f"}),
        ("write_file", {"path": "/d/f", "content": "other"}),
        ("write_file", {"path": "/d/new/f", "content": "other"}),
        ("edit_file", {"path": "/d/f", "old_text": "o", "new_text": "a"}),
        ("copy_file", {"source": "/d/f", "destination": "/d/g"}),
        ("move_file", {"source": "/d/f", "destination": "/d/h"}),
        ("delete_file", {"path": "/d/f"}),
    ]
    for name, arguments in calls:
        for file in ("f", "g", "h"):
            (tmp_path / file).unlink(missing_ok=True)
        (tmp_path / "f").write_text("no")
        asked.requests.clear()
        needed = inner.needs_approval(name, arguments, CTX).is_needs_approval
        await tools.call_tool(name, arguments, CTX, None)  # type: ignore[arg-type]
        assert len(asked.requests) == needed, name
