"""Pydantic AI's own suite for workspaces, over each kind."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite
from workspaces import New, in_docker, in_linux

from workden.workspace import WorkdenFilesWorkspaceBackend, WorkdenWorkspaceBackend


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
    with in_linux(tmp_path / "leases") as new:
        yield new


@pytest.fixture
def docker() -> Iterator[New]:
    with in_docker() as new:
        yield new


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
    """Except commands, which files in memory do not have."""

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
            # The files end with their last reference.
            del backend._environment._opening, backend._environment._provider
            gc.collect()

        return destroy
