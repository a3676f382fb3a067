"""The documented examples of pydantic-ai-filesystem-sandbox, with another import and a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from scripted_model import Run
from workden.approval import ApprovalController, ApprovalDecision, ApprovalRequest, ApprovalToolset
from workden.filesystem import (
    ApprovableFileSystemToolset,
    FileSystemToolset,
    PathConfig,
    RootSandboxConfig,
    Sandbox,
    SandboxConfig,
    SandboxError,
)


def two_paths() -> SandboxConfig:
    return SandboxConfig(
        paths={
            "input": PathConfig(root="./data/input", mode="ro"),
            "output": PathConfig(root="./data/output", mode="rw"),
        }
    )


def test_quick_start(in_tmp: Path):
    sandbox = Sandbox(two_paths())
    toolset = FileSystemToolset(sandbox)
    agent = Agent(TestModel(call_tools=["list_files"]), toolsets=[toolset])
    assert agent.run_sync("What is there?").output == '{"list_files":[]}'
    assert (in_tmp / "data/input").is_dir() and (in_tmp / "data/output").is_dir()
    run = Run(toolset, ("write_file", {"path": "output/a.md", "content": "x"}), ("list_files", {}))
    assert run.answers == ["Written 1 characters to output/a.md", ["output/a.md"]]


def test_simple_usage(in_tmp: Path):
    toolset = FileSystemToolset.create_default("./data", mode="rw")
    run = Run(toolset, ("write_file", {"path": "data/a.md", "content": "x"}))
    assert run.answers == ["Written 1 characters to data/a.md"] and (in_tmp / "data/a.md").exists()


def test_example_configuration_and_errors(in_tmp: Path):
    config = SandboxConfig(
        paths={
            "input": PathConfig(root="./data/input", mode="ro"),
            "output": PathConfig(
                root="./data/output", mode="rw", suffixes=[".md", ".txt"], max_file_bytes=1_000_000
            ),
            "config": PathConfig(root="./config", mode="ro", read_approval=True),
        }
    )
    sandbox = Sandbox(config)
    toolset = FileSystemToolset(sandbox)
    (in_tmp / "data/output/huge.txt").write_text("x" * 5_000_000)
    (in_tmp / "data/output/file.txt").write_text("something")
    for call, message in [
        (lambda: toolset.read("secret/file.txt"), "Cannot access 'secret/file.txt': path is outside sandbox.\nReadable paths: input, output, config"),
        (lambda: toolset.write("input/file.txt", ""), "Cannot write to 'input/file.txt': path is read-only.\nWritable paths: output"),
        (lambda: toolset.write("output/data.json", ""), "Cannot access 'output/data.json': suffix '.json' not allowed.\nAllowed suffixes: .md, .txt"),
        (lambda: toolset.read("output/huge.txt"), "Cannot read 'output/huge.txt': file too large (5,000,000 bytes).\nMaximum allowed: 1,000,000 bytes"),
        (lambda: toolset.edit("output/file.txt", "old text...", "x"), "Cannot edit 'output/file.txt': text not found in file.\nSearched for: 'old text...'"),
    ]:  # fmt: skip
        with pytest.raises(SandboxError) as raised:
            call()
        assert str(raised.value) == message
    assert sandbox.needs_read_approval("config/a.toml")


def test_one_root(in_tmp: Path):
    sandbox = Sandbox(SandboxConfig(root=RootSandboxConfig(root=".", readonly=False)))  # type: ignore[arg-type]
    assert sandbox.resolve("/src/main.py") == in_tmp.resolve() / "src/main.py"


def test_deriving(in_tmp: Path):
    parent = Sandbox(two_paths())
    child = parent.derive()
    reader = parent.derive(allow_read="output/reports")
    writer = parent.derive(allow_write="output/reports")
    path = "output/reports/a.md"
    assert [sandbox.can_read(path) for sandbox in (child, reader, writer)] == [False, True, True]
    assert [sandbox.can_write(path) for sandbox in (child, reader, writer)] == [False, False, True]


def test_approval_integration(in_tmp: Path):
    config = SandboxConfig(paths={"output": PathConfig(root="./output", mode="rw", write_approval=True)})
    toolset = ApprovableFileSystemToolset(Sandbox(config))
    controller = ApprovalController(mode="interactive")
    approved_toolset = ApprovalToolset(
        inner=toolset, approval_callback=controller.approval_callback, memory=controller.memory
    )
    run = Run(approved_toolset, ("write_file", {"path": "output/a.md", "content": "x"}))
    # A test has no terminal, which the model reads.
    assert run.answers[0].startswith("User denied write_file: approval requires a terminal")
    assert not (in_tmp / "output/a.md").exists()


def test_using_the_sandbox_directly(in_tmp: Path):
    sandbox = Sandbox(two_paths())
    if sandbox.can_write("output/file.txt"):
        sandbox.resolve("output/file.txt").write_text("x")
    assert (in_tmp / "data/output/file.txt").read_text() == "x"
    assert (sandbox.readable_roots, sandbox.writable_roots) == (["input", "output"], ["output"])
    assert sandbox.needs_write_approval("output/file.txt")


def test_reading_in_parts(in_tmp: Path):
    toolset = FileSystemToolset(Sandbox(two_paths()))
    (in_tmp / "data/input/large.txt").write_text("ab" * 7_500)
    result = toolset.read("input/large.txt", max_chars=10000)
    assert result.truncated
    rest = toolset.read("input/large.txt", max_chars=10000, offset=10000)
    assert result.content + rest.content == "ab" * 7_500 and not rest.truncated


def test_a_callback_may_look_at_the_file_it_is_asked_about(in_tmp: Path):
    toolset = ApprovableFileSystemToolset(Sandbox(two_paths()))
    toolset.write("output/a.md", "before")
    seen: list[str] = []

    def callback(request: ApprovalRequest) -> ApprovalDecision:
        seen.append(toolset.read(request.tool_args["path"]).content)
        return ApprovalDecision(approved=True)

    run = Run(ApprovalToolset(toolset, callback), ("write_file", {"path": "output/a.md", "content": "after"}))
    assert seen == ["before"] and run.answers == ["Written 5 characters to output/a.md"]


def test_many_calls_at_once_are_each_asked_about(in_tmp: Path):
    asked: list[str] = []

    async def callback(request: ApprovalRequest) -> ApprovalDecision:
        asked.append(request.tool_args["path"])
        await asyncio.sleep(0)
        return ApprovalDecision(approved=not request.tool_args["path"].endswith("7.md"))

    async def run() -> list[Any]:
        toolset = ApprovalToolset(ApprovableFileSystemToolset(Sandbox(two_paths())), callback)
        calls = ({"path": f"output/{nth}.md", "content": "x"} for nth in range(200))
        return await asyncio.gather(*(toolset.call_tool("write_file", call, None, None) for call in calls))  # type: ignore[arg-type]

    answers = asyncio.run(run())
    assert sorted(asked) == sorted(f"output/{nth}.md" for nth in range(200))
    for nth, answer in enumerate(answers):
        denied = "User denied write_file: no reason given"
        assert answer == (denied if nth % 10 == 7 else f"Written 1 characters to output/{nth}.md")
    assert len(list((in_tmp / "data/output").iterdir())) == 180
