"""Workspaces as a capability of an agent, and workspaces in memory."""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.workspaces import (
    ReadOnlyWorkspace,
    SupportsCommands,
    Workspace,
    WorkspaceBackend,
    WorkspaceReadOnlyError,
    WorkspaceRef,
)
from workspaces import ended

import workden.workspace
from workden.backends.state import StateBackend
from workden.workspace import WorkdenFilesWorkspaceBackend, WorkdenWorkspace, WorkdenWorkspaceBackend


# Files in memory.


def test_files_in_memory_have_one_ref() -> None:
    state = StateBackend()
    first, second = WorkdenFilesWorkspaceBackend(state), WorkdenFilesWorkspaceBackend(state)
    asyncio.run(first.write_bytes("/a.txt", b"one"))
    assert asyncio.run(second.read_bytes("/a.txt")) == b"one"
    assert first.ref == second.ref and first.ref is not None
    assert not isinstance(first, SupportsCommands)
    assert state.read("/a.txt").endswith("one")


def test_directories_in_memory_are_those_of_the_files_and_those_that_were_made() -> None:
    state = StateBackend()
    workspace = WorkdenFilesWorkspaceBackend(state)

    async def main() -> None:
        await workspace.make_dir("/made/empty")
        state.write("/files/a.txt", "one")
        assert [entry.name for entry in await workspace.list_dir("/")] == ["files", "made"]
        assert list(await workspace.list_dir("/made/empty")) == []
        await workspace.write_bytes("/made/b.txt", b"two")
        await workspace.remove("/made/b.txt")
        # As on a disk, the directory still exists.
        assert [entry.path for entry in await workspace.list_dir("/made")] == ["/made/empty"]
        await workspace.remove("/made")
        assert not await workspace.exists("/made/empty")
        assert await WorkdenFilesWorkspaceBackend(state).exists("/files")

    asyncio.run(main())


# As a capability of an agent.


def obeys(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model that reports the answers."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content))])
    assert isinstance(last, UserPromptPart)
    return ModelResponse(parts=[ToolCallPart("work", {"line": last.content})])


def test_an_agent_works_in_a_sandbox_and_goes_on_in_it(tmp_path: Path) -> None:
    leases = tmp_path / "leases"
    agent = Agent(FunctionModel(obeys), capabilities=[WorkdenWorkspace("linux", leases=leases)])

    @agent.tool
    async def work(ctx: RunContext[None], line: str) -> str:
        ran = await ctx.workspace.run(line, shell=True)
        return ran.stdout + ran.stderr

    try:
        first = agent.run_sync("echo remembered > note.txt; id -u")
        assert int(first.output) != 0
        again = agent.run_sync("cat note.txt", message_history=first.all_messages())
        assert again.output == "remembered\n" and len(os.listdir(leases)) == 1
        other = agent.run_sync("cat note.txt", message_history=first.all_messages(), workspace="new")
        assert "No such file" in other.output and len(os.listdir(leases)) == 2
    finally:
        refs = [WorkspaceRef(provider="workden-linux", id=id) for id in os.listdir(leases)]
        ended([WorkdenWorkspaceBackend(ref=ref, leases=leases) for ref in refs])
    assert os.listdir(leases) == []


def test_an_agent_is_described_with_its_workspace(tmp_path: Path) -> None:
    described = {"on": "linux", "options": {"env": {"WHO": "spec"}}, "leases": str(tmp_path / "leases")}
    spec = {"model": "test", "capabilities": [{"WorkdenWorkspace": described}]}
    agent = Agent.from_spec(spec, custom_capability_types=[WorkdenWorkspace])
    seen: list[WorkdenWorkspaceBackend] = []

    @agent.tool
    async def work(ctx: RunContext[Any]) -> str:
        seen.append(ctx.workspace.backend)  # type: ignore[arg-type]
        return (await ctx.workspace.run("printf %s $WHO", shell=True)).stdout

    try:
        assert agent.run_sync("go").output == '{"work":"spec"}'
    finally:
        ended(seen)


def workspace_of(capability: WorkdenWorkspace[None], ref: WorkspaceRef | None = None) -> WorkspaceBackend | None:
    return capability.get_workspace(None, ref=ref)  # type: ignore[arg-type]


def test_a_capability_takes_its_own_refs_and_no_others() -> None:
    linux = WorkdenWorkspace[None]("linux")
    docker = WorkdenWorkspace[None]("docker", {"container_name": "mine"})
    for capability, provider, own, foreign in (
        (linux, "workden-linux", "0123456789abcdef", "../x"),
        (docker, "workden-docker", "workden-0123456789abcdef", "database"),
        (docker, "workden-docker", "mine", "yours"),
        # This could be the id of a container.
        (docker, "workden-docker", "mine", "0123456789abcdef"),
    ):
        found = workspace_of(capability, WorkspaceRef(provider=provider, id=own))
        assert found is not None and found.ref == WorkspaceRef(provider=provider, id=own)
        assert workspace_of(capability, WorkspaceRef(provider=provider, id=foreign)) is None
        assert workspace_of(capability, WorkspaceRef(provider="local", id=own)) is None


def test_a_capability_over_files_in_memory() -> None:
    mine = WorkdenWorkspace[None](StateBackend(), read_only=True, authority="none")
    workspace = workspace_of(mine)
    assert isinstance(workspace, Workspace) and workspace.authority == "none" and workspace.read_only
    assert isinstance(workspace._backend._backend, ReadOnlyWorkspace)  # type: ignore[attr-defined]
    with pytest.raises(WorkspaceReadOnlyError):
        asyncio.run(workspace.write_bytes("/a", b""))
    asyncio.run(workspace.working_dir())
    ref = workspace.ref
    assert workspace_of(mine, ref) is not None
    assert workspace_of(WorkdenWorkspace[None](StateBackend()), ref) is None


def test_the_last_of_several_capabilities_holds() -> None:
    first, last = WorkdenWorkspace[None]("docker"), WorkdenWorkspace[None]("linux")
    assert WorkdenWorkspace.combine([first, last]) is last


def test_without_pydantic_ai_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.workspaces", None)
    with pytest.raises(ImportError, match=r"pip install 'workden\[console\]'"):
        runpy.run_path(str(workden.workspace.__file__))


def test_nothing_is_started_by_making_one(tmp_path: Path) -> None:
    before = threading.active_count()
    backend = WorkdenWorkspaceBackend("linux", leases=tmp_path / "leases")
    assert backend.ref is None and threading.active_count() == before and not (tmp_path / "leases").exists()
