"""Workspaces: Pydantic AI's own suite over each kind, and what is beyond it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import runpy
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
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
    WorkspaceOutputLimitError,
    WorkspaceReadOnlyError,
    WorkspaceRef,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

import workden.workspace
from workden._native import Failure
from workden._workspace import failures
from workden._workspace.grounds import private_directory
from workden.backends.state import StateBackend
from workden.permissions import READONLY_RULESET
from workden.workspace import WorkdenFilesWorkspaceBackend, WorkdenWorkspace, WorkdenWorkspaceBackend

IMAGE = "workden-test/busybox:latest"
New = Callable[..., WorkdenWorkspaceBackend]


def ended(backends: list[WorkdenWorkspaceBackend]) -> None:
    """Ends what is left of what a test has made."""

    async def each() -> None:
        for backend in backends:
            if backend.ref is not None:
                with contextlib.suppress(WorkspaceUnavailableError):
                    await backend.destroy()

    asyncio.run(each())


class _Suite(WorkspaceBackendSuite):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self, new: New) -> WorkspaceBackend:
        return new()

    @pytest.fixture
    def fresh_backend(self, new: New) -> Callable[[], WorkspaceBackend]:
        return new

    @pytest.fixture
    def attach_backend(self, new: New) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return lambda ref: new(ref=ref)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            assert isinstance(backend, WorkdenWorkspaceBackend)
            await backend.destroy()

        return destroy


@pytest.fixture
def linux(tmp_path: Path) -> Iterator[New]:
    """Makes workspaces in Linux sandboxes."""
    made: list[WorkdenWorkspaceBackend] = []

    def new(options: dict[str, Any] | None = None, **more: Any) -> WorkdenWorkspaceBackend:
        made.append(WorkdenWorkspaceBackend("linux", options, leases=tmp_path / "leases", **more))
        return made[-1]

    yield new
    ended(made)


@pytest.fixture
def docker() -> Iterator[New]:
    """Makes workspaces in containers, for a user who may not do everything."""
    made: list[WorkdenWorkspaceBackend] = []

    def new(options: dict[str, Any] | None = None, **more: Any) -> WorkdenWorkspaceBackend:
        usual = {"image": IMAGE, "user": "1000:1000"}
        made.append(WorkdenWorkspaceBackend("docker", {**usual, **(options or {})}, **more))
        return made[-1]

    yield new
    ended(made)


class TestLinuxSandbox(_Suite):
    @pytest.fixture
    def new(self, linux: New) -> New:
        return linux


@pytest.mark.docker
class TestDockerSandbox(_Suite):
    @pytest.fixture
    def new(self, docker: New) -> New:
        return docker


class TestState(_Suite):
    """Commands aside, of which there are none."""

    @pytest.fixture
    def has_real_posix_shell(self) -> bool:
        return False

    @pytest.fixture
    def new(self) -> Callable[..., WorkspaceBackend]:
        return lambda ref=None: WorkdenFilesWorkspaceBackend(ref=ref)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            assert isinstance(backend, WorkdenFilesWorkspaceBackend)
            # The files go with whoever held them.
            del backend._environment._opening, backend._environment._ground
            gc.collect()

        return destroy


# Beyond the suite, in Linux sandboxes.


def test_all_who_come_first_share_one_environment_also_after_some_were_cancelled(linux: New, tmp_path: Path) -> None:
    backend = linux()

    async def main() -> None:
        first = [asyncio.create_task(backend.working_dir()) for _ in range(8)]
        await asyncio.sleep(0)
        for task in first[:5]:
            task.cancel()
        assert [await task for task in first[5:]] == ["/workspace"] * 3

    asyncio.run(main())
    assert len(list((tmp_path / "leases").iterdir())) == 1
    assert backend.ref is not None and [backend.ref.id] == os.listdir(tmp_path / "leases")


def test_an_environment_is_kept_when_everybody_who_waited_for_it_was_cancelled(linux: New, tmp_path: Path) -> None:
    backend = linux()

    async def gives_up() -> None:
        waiting = asyncio.create_task(backend.write_bytes("/workspace/a", b"x"))
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting

    # Also the loop is gone by the time there is an environment.
    asyncio.run(gives_up())
    asyncio.run(backend.write_bytes("/workspace/b", b"y"))
    assert backend.ref is not None and [backend.ref.id] == os.listdir(tmp_path / "leases")


def test_a_start_that_fails_is_tried_again(linux: New, tmp_path: Path) -> None:
    (tmp_path / "leases").mkdir(mode=0o755)
    (tmp_path / "leases").chmod(0o755)
    backend = linux()
    with pytest.raises(PermissionError, match="this user alone"):
        asyncio.run(backend.working_dir())
    assert backend.ref is None
    (tmp_path / "leases").chmod(0o700)
    assert asyncio.run(backend.working_dir()) == "/workspace"


def test_another_process_comes_back_by_the_ref(linux: New, tmp_path: Path) -> None:
    backend = linux()
    asyncio.run(backend.write_bytes("/workspace/a.txt", b"from here"))
    assert backend.ref is not None
    program = (
        "import asyncio, sys\n"
        "from pydantic_ai.workspaces import WorkspaceRef\n"
        "from workden.workspace import WorkdenWorkspaceBackend\n"
        "ref = WorkspaceRef(provider=sys.argv[1], id=sys.argv[2])\n"
        "backend = WorkdenWorkspaceBackend('linux', ref=ref, leases=sys.argv[3])\n"
        "print(asyncio.run(backend.run(['sh', '-c', 'cat a.txt; printf there > b.txt'])).stdout)\n"
    )
    words = [sys.executable, "-c", program, backend.ref.provider, backend.ref.id, str(tmp_path / "leases")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "from here\n"
    # It is still there, although whoever came has left.
    assert asyncio.run(backend.read_bytes("/workspace/b.txt")) == b"there"


def test_a_forked_child_comes_to_the_same_environment(linux: New) -> None:
    backend = linux()
    asyncio.run(backend.write_bytes("/workspace/a", b"parent"))
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            assert asyncio.run(backend.read_bytes("/workspace/a")) == b"parent"
            asyncio.run(backend.write_bytes("/workspace/b", b"child"))
            code = 0
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert asyncio.run(backend.read_bytes("/workspace/b")) == b"child"


def test_an_environment_that_somebody_else_ended_is_unavailable(linux: New) -> None:
    backend = linux()

    async def main() -> None:
        await backend.write_bytes("/workspace/a", b"x")
        running = asyncio.create_task(backend.run("sleep 60", shell=True))
        await asyncio.sleep(0.5)
        await linux(ref=backend.ref).destroy()
        with pytest.raises(WorkspaceUnavailableError):
            await asyncio.wait_for(running, 20)
        for call in (backend.working_dir(), backend.read_bytes("/workspace/a"), backend.exists("/workspace/a")):
            with pytest.raises(WorkspaceUnavailableError):
                await call

    asyncio.run(main())


def test_a_command_that_kills_itself_has_ended_in_a_living_environment(linux: New) -> None:
    ran = asyncio.run(linux().run("kill -9 $$", shell=True))
    assert ran.exit_code == 137


def test_what_was_printed_before_a_timeout_is_told(linux: New) -> None:
    with pytest.raises(WorkspaceTimeoutError, match="1 s") as caught:
        asyncio.run(linux().run("echo early; echo err >&2; sleep 60", shell=True, timeout=1))
    assert (caught.value.stdout, caught.value.stderr) == ("early\n", "err\n")


def test_a_command_that_prints_without_end_is_ended(linux: New) -> None:
    with pytest.raises(WorkspaceOutputLimitError) as caught:
        asyncio.run(linux().run("yes", shell=True, timeout=60))
    assert caught.value.limit == 10 * 1024 * 1024
    assert caught.value.stdout.startswith("y\ny\n") and len(caught.value.stdout) == 64 * 1024


def test_arguments_that_make_no_sense(linux: New) -> None:
    backend = linux()
    for timeout in (0, -1, float("nan"), float("inf"), "soon"):
        with pytest.raises(ValueError, match="timeout"):
            asyncio.run(backend.run(["true"], timeout=timeout))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="string"):
        asyncio.run(backend.run([b"true"]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one"):
        asyncio.run(backend.run([]))
    with pytest.raises(ValueError, match="absolute"):
        asyncio.run(backend.read_bytes("relative"))
    with pytest.raises(ValueError):
        asyncio.run(backend.read_bytes("/workspace/nul\0"))
    with pytest.raises(ValueError, match="and none on `moon`"):
        WorkdenWorkspaceBackend("moon")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="another workspace"):
        linux(ref=WorkspaceRef(provider="local", id="/"))


def test_a_directory_of_the_host_can_be_worked_in(linux: New, tmp_path: Path) -> None:
    backend = linux({"root_dir": tmp_path / "work"})
    assert asyncio.run(backend.run("pwd", shell=True)).stdout == "/workspace\n"
    asyncio.run(backend.write_bytes("/workspace/deep/file", b"on the host, too"))
    assert (tmp_path / "work" / "deep" / "file").read_bytes() == b"on the host, too"


def test_what_holds_where_it_was_made_holds_where_it_is_found_again(linux: New, tmp_path: Path) -> None:
    options = {"root_dir": tmp_path / "work", "permissions": READONLY_RULESET}
    made = linux(options)
    for backend in (made, lambda: linux(options, ref=made.ref)):
        backend = backend() if callable(backend) else backend
        with pytest.raises(PermissionError, match="the policy denies it"):
            asyncio.run(backend.write_bytes("/workspace/x", b""))
        with pytest.raises(PermissionError, match="the policy denies it"):
            asyncio.run(backend.run("touch /workspace/x", shell=True))
    assert list((tmp_path / "work").iterdir()) == []


def test_what_makes_programs_run_outside_cannot_be_written_where_it_is_found_again(linux: New, tmp_path: Path) -> None:
    options: dict[str, Any] = {"root_dir": tmp_path / "work", "volumes": {tmp_path / "more": "/more"}}
    made = linux(options)
    asyncio.run(made.write_bytes("/workspace/file", b""))
    for path in ("/workspace/.mcp.json", "/more/.git/hooks/pre-commit"):
        with pytest.raises(OSError, match="it may only be read"):
            asyncio.run(linux(options, ref=made.ref).write_bytes(path, b""))
    writable = {**options, "git_files": "writable"}
    asyncio.run(linux(writable, ref=made.ref).write_bytes("/workspace/.mcp.json", b""))


def test_links_are_removed_and_the_working_directory_is_not(linux: New) -> None:
    backend = linux()

    async def main() -> None:
        await backend.run("mkdir -p tree && ln -s tree link && ln -s . here && ln -s nowhere dead", shell=True)
        for path in ("/workspace/here/.", "/workspace/tree/..", "/workspace/link/../", "/"):
            with pytest.raises(ValueError, match="working directory"):
                await backend.remove(path)
        for path in ("/workspace/link", "/workspace/here", "/workspace/dead"):
            await backend.remove(path)
        assert [entry.name for entry in await backend.list_dir("/workspace")] == ["tree"]

    asyncio.run(main())


def test_refs_that_no_workspace_made_lead_nowhere(linux: New) -> None:
    for id in ("../../etc", "", "0123456789abcdef"):
        with pytest.raises(WorkspaceUnavailableError):
            asyncio.run(linux(ref=WorkspaceRef(provider="workden-linux", id=id)).working_dir())


def test_directories_of_leases_belong_to_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = private_directory(None)
    assert made == tmp_path / "workden" and stat.S_IMODE(made.stat().st_mode) == 0o700
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert private_directory(None) == tmp_path / f"workden-{os.getuid()}"
    (tmp_path / "link").symlink_to(made)
    with pytest.raises(PermissionError, match="this user alone"):
        private_directory(tmp_path / "link")


def test_each_kind_of_failure_is_an_error_of_pythons() -> None:
    def failed(kind: str) -> Failure:
        failure = Failure("no")
        failure.kind = kind
        return failure

    kinds = {
        "not_found": FileNotFoundError,
        "already_exists": FileExistsError,
        "is_directory": IsADirectoryError,
        "not_directory": NotADirectoryError,
        "denied": PermissionError,
        "permission_denied": PermissionError,
        "escapes": PermissionError,
        "not_regular": OSError,
        "link_loop": OSError,
        "invalid_path": ValueError,
        "timed_out": TimeoutError,
        "gone": WorkspaceUnavailableError,
        "unreachable": Failure,
    }
    assert {kind: type(failures.of_call(failed(kind), "/a")) for kind in kinds} == kinds
    assert str(failures.of_call(failed("not_found"), "/a")).endswith("'/a'")
    assert type(failures.of_attach(failed("not_found"))) is WorkspaceUnavailableError
    assert type(failures.of_attach(failed("unreachable"))) is Failure


# Beyond the suite, in containers.


def run_docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


@pytest.mark.docker
def test_a_container_that_somebody_removes_is_unavailable(docker: New) -> None:
    backend = docker()

    async def main() -> None:
        await backend.working_dir()
        assert backend.ref is not None
        running = asyncio.create_task(backend.run("sleep 60", shell=True))
        await asyncio.sleep(0.5)
        run_docker("rm", "--force", backend.ref.id)
        with pytest.raises(WorkspaceUnavailableError):
            await asyncio.wait_for(running, 20)
        with pytest.raises(WorkspaceUnavailableError):
            await backend.read_bytes("/workspace/a")
        with pytest.raises(WorkspaceUnavailableError):
            await docker(ref=backend.ref).working_dir()

    asyncio.run(main())


@pytest.mark.docker
def test_a_container_that_is_done_with_is_removed(docker: New) -> None:
    backend = docker({"container_name": f"workden-test-{os.getpid()}"})
    asyncio.run(backend.working_dir())
    assert backend.ref == WorkspaceRef(provider="workden-docker", id=f"workden-test-{os.getpid()}")
    assert run_docker("ps", "--quiet", "--filter", f"name={backend.ref.id}") != ""
    asyncio.run(docker(ref=backend.ref).destroy())
    assert run_docker("ps", "--all", "--quiet", "--filter", f"name={backend.ref.id}") == ""


@pytest.mark.docker
def test_a_container_of_somebodys_own_is_reached_by_its_name_and_left_as_it_was(docker: New) -> None:
    name = f"workden-test-own-{os.getpid()}"
    run_docker("run", "--detach", "--rm", "--name", name, "--workdir", "/srv/own", IMAGE, "sleep", "600")
    try:
        backend = docker(ref=WorkspaceRef(provider="workden-docker", id=name))
        assert asyncio.run(backend.run("pwd; touch was-here", shell=True)).stdout == "/srv/own\n"
        assert asyncio.run(backend.run("cd / && rm -r /srv/own", shell=True)).exit_code == 0
        with pytest.raises(WorkspaceUnavailableError, match="working directory"):
            asyncio.run(backend.working_dir())
        asyncio.run(backend.destroy())
        assert run_docker("ps", "--quiet", "--filter", f"name={name}") != ""
    finally:
        run_docker("rm", "--force", name)


# Files in memory.


def test_files_in_memory_have_one_ref_whoever_asks() -> None:
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
        # As on a disk, the directory is still there.
        assert [entry.path for entry in await workspace.list_dir("/made")] == ["/made/empty"]
        await workspace.remove("/made")
        assert not await workspace.exists("/made/empty")
        assert await WorkdenFilesWorkspaceBackend(state).exists("/files")

    asyncio.run(main())


# As a capability of an agent.


def obeys(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that does as it is told, and tells what came of it."""
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
        # Which could be the id of a container.
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
    with pytest.raises(ImportError, match=r"pip install workden\[console\]"):
        runpy.run_path(str(workden.workspace.__file__))


def test_nothing_is_started_by_making_one(tmp_path: Path) -> None:
    before = threading.active_count()
    backend = WorkdenWorkspaceBackend("linux", leases=tmp_path / "leases")
    assert backend.ref is None and threading.active_count() == before and not (tmp_path / "leases").exists()
