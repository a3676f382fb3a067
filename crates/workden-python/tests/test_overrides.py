"""Overridden methods are called from everywhere."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest
from workden import CompositeBackend, LocalBackend, ensure_async
from workden.types import ExecuteResponse, WriteResult


class Wrapped(LocalBackend):
    """A usual way to keep the signatures for tools."""

    @functools.wraps(LocalBackend.write)
    def write(self, path: str, content: str | bytes) -> WriteResult:
        return WriteResult(error="not here")

    @functools.wraps(LocalBackend.execute)
    def execute(self, command: str, timeout: float | None = None) -> ExecuteResponse:
        return ExecuteResponse("not here", 1)


class Plain(LocalBackend):
    def write(self, path: str, content: str | bytes) -> WriteResult:
        return WriteResult(error="not here")

    def execute(self, command: str, timeout: float | None = None) -> ExecuteResponse:
        return ExecuteResponse("not here", 1)


def put_on_one(root_dir: Path) -> LocalBackend:
    backend: Any = LocalBackend(root_dir=root_dir)
    backend.write = lambda path, content: WriteResult(error="not here")
    backend.execute = lambda command, timeout=None: ExecuteResponse("not here", 1)
    return backend


@pytest.mark.parametrize("made", [Wrapped, Plain, put_on_one])
def test_a_replaced_method_is_called_by_all(made: Any, tmp_path: Path) -> None:
    backend = made(root_dir=tmp_path)
    assert backend.write("a", "x").error == "not here"
    assert "not here" in CompositeBackend(backend).write("a", "x").error
    assert asyncio.run(ensure_async(backend).write("a", "x")).error == "not here"
    assert list(tmp_path.iterdir()) == []
    for ran in (
        backend.execute("touch a"),
        CompositeBackend(backend).execute("touch a"),
        asyncio.run(backend.async_execute("touch a")),
        asyncio.run(ensure_async(backend).execute("touch a")),
    ):
        assert "not here" in ran.output
    assert list(tmp_path.iterdir()) == []


def test_a_stop_iteration_blocks_no_caller() -> None:
    class Stops:
        def read_bytes(self, path: str) -> bytes:
            return next(iter([]))

    async def read() -> None:
        await asyncio.wait_for(ensure_async(Stops()).read_bytes("a"), 120)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(read())
