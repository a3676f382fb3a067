"""Pydantic AI's own suite for workspaces, over the unchanged client of sandboxd and a service of workden."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite
from pydantic_ai_backends.workspaces import SandboxdWorkspaceBackend

URL, TOKEN = os.environ["SANDBOXD_URL"], os.environ["SANDBOXD_TOKEN"]


def new(ref: WorkspaceRef | None = None) -> SandboxdWorkspaceBackend:
    return SandboxdWorkspaceBackend(URL, token=TOKEN, ref=ref)


class TestService(WorkspaceBackendSuite):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def backend(self) -> WorkspaceBackend:
        return new()

    @pytest.fixture
    def fresh_backend(self) -> Callable[[], WorkspaceBackend]:
        return new

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return new

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            assert isinstance(backend, SandboxdWorkspaceBackend)
            await backend.purge()

        return destroy
