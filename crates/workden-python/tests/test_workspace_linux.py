"""Workspaces in Linux sandboxes: tests in addition to Pydantic AI's suite."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from terminal_programs import TerminalPrograms
from waiting import until_async
from pydantic_ai.workspaces import (
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)
from workspaces import New, in_linux

from workden._native import Failure
from workden._workspace import exceptions
from workden._workspace.providers import private_directory
from workden.permissions import READONLY_RULESET
from workden.workspace import WorkdenWorkspaceBackend


@pytest.fixture
def linux(tmp_path: Path) -> Iterator[New]:
    with in_linux(tmp_path / "leases") as new:
        yield new


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


def test_an_environment_is_kept_when_all_waiting_callers_were_cancelled(linux: New, tmp_path: Path) -> None:
    backend = linux()

    async def gives_up() -> None:
        waiting = asyncio.create_task(backend.write_bytes("/workspace/a", b"x"))
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting

    # The loop has ended before the environment is ready.
    asyncio.run(gives_up())
    asyncio.run(backend.write_bytes("/workspace/b", b"y"))
    assert backend.ref is not None and [backend.ref.id] == os.listdir(tmp_path / "leases")


def test_a_start_that_fails_is_tried_again(linux: New, tmp_path: Path) -> None:
    (tmp_path / "leases").mkdir(mode=0o755)
    (tmp_path / "leases").chmod(0o755)
    backend = linux()
    with pytest.raises(PermissionError, match="only this user can access"):
        asyncio.run(backend.working_dir())
    assert backend.ref is None
    (tmp_path / "leases").chmod(0o700)
    assert asyncio.run(backend.working_dir()) == "/workspace"


def test_another_process_comes_back_by_the_ref(
    linux: New, tmp_path: Path, terminal_programs: TerminalPrograms
) -> None:
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
    arguments = (backend.ref.provider, backend.ref.id, str(tmp_path / "leases"))
    with terminal_programs.start(program, *arguments) as other:
        assert other.rest() == b"from here\r\n"
        assert other.wait() == 0
    # The environment outlives the process that attached to it.
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


def test_an_environment_that_another_client_ended_is_unavailable(linux: New) -> None:
    backend = linux()

    async def main() -> None:
        await backend.write_bytes("/workspace/a", b"x")
        running = asyncio.create_task(backend.run("touch up; sleep 6000", shell=True))
        await until_async(lambda: backend.exists("/workspace/up"))
        await linux(ref=backend.ref).destroy()
        with pytest.raises(WorkspaceUnavailableError):
            await asyncio.wait_for(running, 120)
        for call in (backend.working_dir(), backend.read_bytes("/workspace/a"), backend.exists("/workspace/a")):
            with pytest.raises(WorkspaceUnavailableError):
                await call

    asyncio.run(main())


def test_a_command_that_kills_itself_has_ended_in_a_living_environment(linux: New) -> None:
    ran = asyncio.run(linux().run("kill -9 $$", shell=True))
    assert ran.exit_code == 137


def test_output_before_a_timeout_is_kept(linux: New) -> None:
    backend = linux()
    # A busy machine needs more time to print something.
    for seconds in (1, 10, 100):
        with pytest.raises(WorkspaceTimeoutError, match=f"after {seconds} s") as caught:
            asyncio.run(backend.run("echo early; echo err >&2; sleep 6000", shell=True, timeout=seconds))
        if caught.value.stderr:
            break
    assert (caught.value.stdout, caught.value.stderr) == ("early\n", "err\n")


def test_a_command_that_prints_without_end_is_ended(linux: New) -> None:
    with pytest.raises(WorkspaceOutputLimitError) as caught:
        asyncio.run(linux().run("yes", shell=True, timeout=240))
    assert caught.value.limit == 10 * 1024 * 1024
    assert caught.value.stdout.startswith("y\ny\n") and len(caught.value.stdout) == 64 * 1024


def test_arguments_that_make_no_sense(linux: New) -> None:
    backend = linux()
    for timeout in (0, -1, float("nan"), float("inf"), "soon"):
        with pytest.raises(ValueError, match="timeout"):
            asyncio.run(backend.run(["true"], timeout=timeout))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="string"):
        asyncio.run(backend.run([b"true"]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="the command is empty"):
        asyncio.run(backend.run([]))
    with pytest.raises(ValueError, match="absolute"):
        asyncio.run(backend.read_bytes("relative"))
    with pytest.raises(ValueError):
        asyncio.run(backend.read_bytes("/workspace/nul\0"))
    with pytest.raises(ValueError, match="unknown kind of workspace `moon`"):
        WorkdenWorkspaceBackend("moon")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="belongs to provider"):
        linux(ref=WorkspaceRef(provider="local", id="/"))


def test_a_directory_of_the_host_can_be_worked_in(linux: New, tmp_path: Path) -> None:
    backend = linux({"root_dir": tmp_path / "work"})
    assert asyncio.run(backend.run("pwd", shell=True)).stdout == "/workspace\n"
    asyncio.run(backend.write_bytes("/workspace/deep/file", b"on the host, too"))
    assert (tmp_path / "work" / "deep" / "file").read_bytes() == b"on the host, too"


def test_the_policy_of_the_creator_holds_for_attached_clients(linux: New, tmp_path: Path) -> None:
    options = {"root_dir": tmp_path / "work", "permissions": READONLY_RULESET}
    made = linux(options)
    for backend in (made, lambda: linux(options, ref=made.ref)):
        backend = backend() if callable(backend) else backend
        with pytest.raises(PermissionError, match="the policy denies it"):
            asyncio.run(backend.write_bytes("/workspace/x", b""))
        with pytest.raises(PermissionError, match="the policy denies it"):
            asyncio.run(backend.run("touch /workspace/x", shell=True))
    assert list((tmp_path / "work").iterdir()) == []


def test_protected_names_hold_for_attached_clients(linux: New, tmp_path: Path) -> None:
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
    with pytest.raises(PermissionError, match="only this user can access"):
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
    assert {kind: type(exceptions.call_exception(failed(kind), "/a")) for kind in kinds} == kinds
    assert str(exceptions.call_exception(failed("not_found"), "/a")).endswith("'/a'")
    assert type(exceptions.attach_exception(failed("not_found"))) is WorkspaceUnavailableError
    assert type(exceptions.attach_exception(failed("unreachable"))) is Failure
