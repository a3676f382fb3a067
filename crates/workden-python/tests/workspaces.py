"""Workspaces that are created for a test, and ended after it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic_ai.workspaces import WorkspaceUnavailableError

from workden.workspace import WorkdenWorkspaceBackend

IMAGE = "workden-test/busybox:latest"
New = Callable[..., WorkdenWorkspaceBackend]


def ended(backends: list[WorkdenWorkspaceBackend]) -> None:
    """Ends the workspaces of a test."""

    async def each() -> None:
        for backend in backends:
            if backend.ref is not None:
                with contextlib.suppress(WorkspaceUnavailableError):
                    await backend.destroy()

    asyncio.run(each())


def in_linux(leases: Path) -> contextlib.AbstractContextManager[New]:
    """Creates workspaces in Linux sandboxes."""
    return _making("linux", {}, leases=leases)


def in_docker() -> contextlib.AbstractContextManager[New]:
    """Creates workspaces in containers, with an unprivileged user."""
    return _making("docker", {"image": IMAGE, "user": "1000:1000"})


@contextlib.contextmanager
def _making(on: Literal["linux", "docker"], usual: dict[str, Any], **always: Any) -> Iterator[New]:
    made: list[WorkdenWorkspaceBackend] = []

    def new(options: dict[str, Any] | None = None, **more: Any) -> WorkdenWorkspaceBackend:
        made.append(WorkdenWorkspaceBackend(on, {**usual, **(options or {})}, **always, **more))
        return made[-1]

    try:
        yield new
    finally:
        ended(made)
