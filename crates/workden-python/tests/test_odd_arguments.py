"""Invalid arguments, such as a lone surrogate that a model may write, and huge numbers, are answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from workden import CompositeBackend, FilesystemBackend, LocalBackend, StateBackend, ensure_async
from workden.integrations.deepagents import deep_backend

HALF = "\ud800"


def backends(directory: Path) -> list[Any]:
    (directory / "a.txt").write_text("text")
    state = StateBackend()
    state.write("a.txt", "text")
    local = LocalBackend(directory)
    return [local, FilesystemBackend(directory), state, CompositeBackend(state, {"/p": local})]


def test_half_a_character_is_an_answer(tmp_path: Path) -> None:
    for backend in backends(tmp_path):
        assert not backend.exists(HALF) and backend.read_bytes(HALF) == b"" and backend.ls_info(HALF) == []
        assert backend.read(HALF).startswith("Error: ") and backend.glob_info(HALF) == []
        assert "invalid text" in str(backend.write(HALF, "x").error) and "invalid text" in str(backend.edit("a.txt", "text", HALF).error)
        assert str(backend.grep_raw(HALF)).startswith("Error: ")
        assert asyncio.run(ensure_async(backend).read(HALF)).startswith("Error: ")
    local = LocalBackend(tmp_path)
    assert local.execute(f"echo {HALF}").exit_code == 1 and not local.read_background(HALF).running
    with pytest.raises(RuntimeError, match="invalid text"):
        local.execute_background(HALF)


def test_numbers_without_end_are_answered(tmp_path: Path) -> None:
    for backend in backends(tmp_path):
        assert backend.read("a.txt", 10**30).startswith("Error: ") and backend.read("a.txt", 0, 10**30).startswith("Error: ")


def test_deepagents_reads_what_is_wrong(tmp_path: Path) -> None:
    for backend in backends(tmp_path):
        deep: Any = deep_backend(backend)
        for answer in (deep.read(HALF), deep.ls(HALF), deep.write(HALF, "x"), deep.edit("a.txt", "text", HALF), deep.delete(HALF)):
            assert "invalid text" in answer.error
        assert deep.grep(HALF).error and deep.glob("*", HALF).error and deep.upload_files([(HALF, b"")])[0].error


def test_objects_that_are_not_backends_are_rejected() -> None:
    for thing in ("x", None, 7, object()):
        with pytest.raises(TypeError, match="is not a backend"):
            CompositeBackend(thing)
        with pytest.raises(TypeError, match="is not a backend"):
            CompositeBackend(StateBackend(), {"/p": thing})


def test_bytes_are_those_of_the_file_whatever_its_size(tmp_path: Path) -> None:
    (backend,) = backends(tmp_path)[:1]
    for size in (0, 1, 65_536, 3_000_001):
        content = bytes(range(251)) * (size // 251 + 1)
        (tmp_path / "f").write_bytes(content[:size])
        assert backend.read_bytes("f") == content[:size]
        assert asyncio.run(ensure_async(backend).read_bytes("f")) == content[:size]
