"""Workspaces in containers: tests in addition to Pydantic AI's suite."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator

import pytest
from waiting import until_async
from pydantic_ai.workspaces import WorkspaceRef, WorkspaceUnavailableError
from workspaces import IMAGE, New, in_docker


@pytest.fixture
def docker() -> Iterator[New]:
    with in_docker() as new:
        yield new


def run_docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


@pytest.mark.docker
def test_a_removed_container_is_unavailable(docker: New) -> None:
    backend = docker()

    async def main() -> None:
        await backend.working_dir()
        assert backend.ref is not None
        running = asyncio.create_task(backend.run("touch up; sleep 6000", shell=True))
        await until_async(lambda: backend.exists("/workspace/up"))
        run_docker("rm", "--force", backend.ref.id)
        with pytest.raises(WorkspaceUnavailableError):
            await asyncio.wait_for(running, 120)
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
def test_a_foreign_container_is_reached_by_name_and_left_unchanged(docker: New) -> None:
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
