"""A path that leads elsewhere by the time that something is done with it: what has to be approved there is asked about."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from workden.approval import ApprovalDecision, ApprovalRequest, ApprovalResult, ApprovalToolset
from workden.filesystem import ApprovableFileSystemToolset, Mount, Sandbox, SandboxConfig

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


@pytest.mark.parametrize(("reads", "writes"), list(itertools.product([False, True], repeat=2)))
async def test_what_need_not_be_approved_is_not_asked_about(tmp_path: Path, reads: bool, writes: bool) -> None:
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
