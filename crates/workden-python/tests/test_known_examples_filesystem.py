"""The documented examples of pydantic-ai-filesystem-sandbox, with another import: they run, and do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import plays

from workden.filesystem import PathConfig, SandboxConfig


@pytest.fixture
def config(in_tmp: Path) -> SandboxConfig:
    return SandboxConfig(paths={
        # Read-only input - any file type
        "input": PathConfig(
            root="./data/input",
            mode="ro",
        ),
        # Read-write output - only markdown and text
        "output": PathConfig(
            root="./data/output",
            mode="rw",
            suffixes=[".md", ".txt"],
            max_file_bytes=1_000_000,  # 1MB limit
        ),
        # Config files - read-only, requires approval
        "config": PathConfig(
            root="./config",
            mode="ro",
            read_approval=True,
        ),
    })


def test_quick_start(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden.filesystem import (
        FileSystemToolset,
        PathConfig,
        Sandbox,
        SandboxConfig,
    )

    # Configure sandbox paths
    config = SandboxConfig(paths={
        "input": PathConfig(root="./data/input", mode="ro"),   # Read-only
        "output": PathConfig(root="./data/output", mode="rw"), # Read-write
    })

    # Create the sandbox (security boundary)
    sandbox = Sandbox(config)

    # Create the toolset (file I/O tools)
    toolset = FileSystemToolset(sandbox)

    (in_tmp / "data/input/a.md").write_text("a text")
    reads = ("read_file", {"path": "input/a.md"})
    refused = ("read_file", {"path": "secret/a.md"})

    # Use with PydanticAI agent
    agent = Agent(plays(reads, refused), toolsets=[toolset])
    result = agent.run_sync("Read it")
    assert "a text" in result.output
    assert "path is outside sandbox" in result.output


def test_simple_usage(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden.filesystem import FileSystemToolset

    # Single directory with read-write access
    toolset = FileSystemToolset.create_default("./data", mode="rw")

    agent = Agent(plays(("list_files", {"path": "data"})), toolsets=[toolset])
    (in_tmp / "data/a.txt").write_text("a")
    assert "a.txt" in agent.run_sync("List them").output


def test_single_root(in_tmp: Path) -> None:
    from workden.filesystem import RootSandboxConfig, Sandbox, SandboxConfig

    config = SandboxConfig(root=RootSandboxConfig(root=".", readonly=False))
    sandbox = Sandbox(config)

    assert sandbox.resolve("/src/main.py") == in_tmp / "src/main.py"  # -> <cwd>/src/main.py


def test_child_sandboxes(config: SandboxConfig, in_tmp: Path) -> None:
    from workden.filesystem import Sandbox

    parent = Sandbox(config)

    # Empty child (secure by default)
    child = parent.derive()

    # Allow read-only access to a subtree
    reader = parent.derive(allow_read="output/reports")

    # Allow read/write access to a subtree
    writer = parent.derive(allow_write="output/reports")

    assert child.readable_roots == []
    assert (reader.can_read("output/reports/a.md"), reader.can_write("output/reports/a.md")) == (True, False)
    assert (writer.can_read("output/reports/a.md"), writer.can_write("output/reports/a.md")) == (True, True)
    assert not writer.can_read("output/else/a.md")


def test_errors_say_what_is_allowed(in_tmp: Path) -> None:
    from workden.filesystem import (
        EditError,
        FileSystemToolset,
        FileTooLargeError,
        PathConfig,
        PathNotInSandboxError,
        PathNotWritableError,
        Sandbox,
        SandboxConfig,
        SuffixNotAllowedError,
    )

    limits = PathConfig(root="./output", mode="rw", suffixes=[".md", ".txt"], max_file_bytes=1_000_000)
    config = SandboxConfig(paths={"input": PathConfig(root="./input"), "output": limits})
    toolset = FileSystemToolset(Sandbox(config))
    (in_tmp / "input/file.txt").write_text("a")
    (in_tmp / "output/file.txt").write_text("b")
    (in_tmp / "output/huge.txt").write_bytes(b"x" * 5_000_000)

    with pytest.raises(PathNotInSandboxError) as outside:
        toolset.read("secret/file.txt")
    assert str(outside.value) == (
        "Cannot access 'secret/file.txt': path is outside sandbox.\nReadable paths: input, output"
    )
    with pytest.raises(PathNotWritableError) as read_only:
        toolset.write("input/file.txt", "other")
    assert str(read_only.value) == (
        "Cannot write to 'input/file.txt': path is read-only.\nWritable paths: output"
    )
    with pytest.raises(SuffixNotAllowedError) as suffix:
        toolset.write("output/data.json", "{}")
    assert str(suffix.value) == (
        "Cannot access 'output/data.json': suffix '.json' not allowed.\nAllowed suffixes: .md, .txt"
    )
    with pytest.raises(FileTooLargeError) as large:
        toolset.read("output/huge.txt")
    assert str(large.value) == (
        "Cannot read 'output/huge.txt': file too large (5,000,000 bytes).\nMaximum allowed: 1,000,000 bytes"
    )
    with pytest.raises(EditError) as edit:
        toolset.edit("output/file.txt", "old text...", "new")
    assert str(edit.value) == (
        "Cannot edit 'output/file.txt': text not found in file.\nSearched for: 'old text...'"
    )


def test_approval(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden.approval import ApprovalController, ApprovalToolset
    from workden.filesystem import ApprovableFileSystemToolset, PathConfig, Sandbox, SandboxConfig

    # Create sandbox and toolset
    config = SandboxConfig(paths={
        "output": PathConfig(root="./output", mode="rw", write_approval=True),
    })
    sandbox = Sandbox(config)
    toolset = ApprovableFileSystemToolset(sandbox)

    # Wrap with approval
    controller = ApprovalController(mode="interactive")
    approved_toolset = ApprovalToolset(
        inner=toolset,
        approval_callback=controller.approval_callback,
        memory=controller.memory,
    )

    write = ("write_file", {"path": "output/a.md", "content": "text"})
    agent = Agent(plays(write), toolsets=[approved_toolset])
    agent.run_sync("Write it")
    # Without a terminal the answer is no; the run continues.
    assert not (in_tmp / "output/a.md").exists()

    controller = ApprovalController(mode="approve_all")
    approved_toolset = ApprovalToolset(toolset, controller.approval_callback, controller.memory)
    Agent(plays(write), toolsets=[approved_toolset]).run_sync("Write it")
    assert (in_tmp / "output/a.md").read_text() == "text"


def test_sandbox_directly(in_tmp: Path) -> None:
    from workden.filesystem import PathConfig, Sandbox, SandboxConfig

    config = SandboxConfig(paths={
        "input": PathConfig(root="./data/input", mode="ro"),
        "output": PathConfig(root="./data/output", mode="rw"),
    })
    sandbox = Sandbox(config)

    # Check permissions
    if sandbox.can_write("output/file.txt"):
        resolved = sandbox.resolve("output/file.txt")
        assert resolved == in_tmp / "data/output/file.txt"

    # Query boundaries
    assert sandbox.readable_roots == ["input", "output"]
    assert sandbox.writable_roots == ["output"]

    # Check approval requirements
    assert sandbox.needs_write_approval("output/file.txt") is True  # True/False


def test_reading_in_parts(config: SandboxConfig, in_tmp: Path) -> None:
    from workden.filesystem import FileSystemToolset, ReadResult, Sandbox

    toolset = FileSystemToolset(Sandbox(config))
    (in_tmp / "data/input/large.txt").write_text("0123456789" * 1500)

    # First read
    result = toolset.read("input/large.txt", max_chars=10000)
    assert result.truncated
    if result.truncated:
        # Continue reading
        result2 = toolset.read("input/large.txt", max_chars=10000, offset=10000)
        assert result2 == ReadResult(
            content="0123456789" * 500, truncated=False, total_chars=15000, offset=10000, chars_read=5000
        )
