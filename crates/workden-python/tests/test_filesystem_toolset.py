"""`FileSystemToolset` in real agents, with and without approvals."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.toolsets import AbstractToolset
from scripted_model import Run
from workden.approval import ApprovalController, ApprovalDecision, ApprovalRequest, ApprovalToolset
from workden.filesystem import (
    ApprovableFileSystemToolset,
    FileSystemToolset,
    Mount,
    PathConfig,
    ReadResult,
    RootSandboxConfig,
    Sandbox,
    SandboxConfig,
)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """`in`, `out` and `config`, with a file each."""
    for name, text in {"in/a.md": "of the input", "out/b.md": "of the output", "config/c.md": "key: value"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def sandbox(host: Path, **limits: Any) -> Sandbox:
    paths = {
        "input": PathConfig(root="in"),
        "output": PathConfig(root="out", mode="rw", **limits),
        "config": PathConfig(root="config", mode="rw", read_approval=True, write_approval=False),
    }
    return Sandbox(SandboxConfig(paths=paths), host)


class Asked:
    """A callback that does something, then decides, and records the requests."""

    def __init__(self, *, first: Any = lambda: None, **decision: Any) -> None:
        self.first = first
        self.decision = ApprovalDecision(**decision)
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.requests.append(request)
        self.first()
        return self.decision


def approved(host: Path, callback: Any, **limits: Any) -> ApprovalToolset:
    return ApprovalToolset(inner=ApprovableFileSystemToolset(sandbox(host, **limits)), approval_callback=callback)


# Tools


def test_a_model_is_given_seven_tools(host: Path):
    run = Run(FileSystemToolset(sandbox(host)))
    assert [tool.name for tool in run.tools] == [
        "read_file", "write_file", "list_files", "edit_file", "delete_file", "move_file", "copy_file",
    ]  # fmt: skip
    shapes = {
        tool.name: {
            name: (parameter["type"], parameter.get("default"), name in tool.parameters_json_schema.get("required", []))
            for name, parameter in tool.parameters_json_schema["properties"].items()
        }
        for tool in run.tools
    }
    needed = ("string", None, True)
    assert shapes == {
        "read_file": {"path": needed, "max_chars": ("integer", 20_000, False), "offset": ("integer", 0, False)},
        "write_file": {"path": needed, "content": needed},
        "list_files": {"path": ("string", ".", False), "pattern": ("string", "**/*", False)},
        "edit_file": {"path": needed, "old_text": needed, "new_text": needed},
        "delete_file": {"path": needed},
        "move_file": {"source": needed, "destination": needed},
        "copy_file": {"source": needed, "destination": needed},
    }
    for tool in run.tools:
        assert tool.description
        assert all(parameter["description"] for parameter in tool.parameters_json_schema["properties"].values())


def test_an_agent_works_with_files(host: Path):
    run = Run(
        FileSystemToolset(sandbox(host)),
        ("read_file", {"path": "input/a.md", "max_chars": 6}),
        ("write_file", '{"path": "output/new/x.md", "content": "one"}'),
        ("edit_file", {"path": "output/new/x.md", "old_text": "one", "new_text": "two"}),
        ("copy_file", {"source": "output/new/x.md", "destination": "output/y.md"}),
        ("move_file", {"source": "output/y.md", "destination": "output/z.md"}),
        ("delete_file", {"path": "output/new/x.md"}),
        ("list_files", {}),
    )
    read = ReadResult(content="of the", truncated=True, total_chars=12, offset=0, chars_read=6)
    assert run.answers == [
        read,
        "Written 3 characters to output/new/x.md",
        "Edited output/new/x.md: replaced 3 chars with 3 chars",
        "Copied output/new/x.md to output/y.md",
        "Moved output/y.md to output/z.md",
        "Deleted output/new/x.md",
        ["config/c.md", "input/a.md", "output/b.md", "output/z.md"],
    ]
    assert (host / "out/z.md").read_text() == "two"


def test_every_tool_can_be_called_by_the_test_model(host: Path):
    result = Agent(TestModel(), toolsets=[FileSystemToolset.create_default(host / "out")]).run_sync("go")
    assert "path is outside sandbox" in result.output


REFUSED = [
    ("read_file", {"path": "secret/f"}, "Cannot access 'secret/f': path is outside sandbox.\nReadable paths: input, output, config"),
    ("write_file", {"path": "input/f", "content": ""}, "Cannot write to 'input/f': path is read-only.\nWritable paths: output, config"),
    ("write_file", {"path": "output/f.json", "content": ""}, "Cannot access 'output/f.json': suffix '.json' not allowed.\nAllowed suffixes: .md, .txt"),
    ("write_file", {"path": "output/f.md", "content": "x" * 1001}, "Cannot read 'output/f.md': file too large (1,001 bytes).\nMaximum allowed: 1,000 bytes"),
    ("list_files", {"path": "secret"}, "Cannot access 'secret': path is outside sandbox.\nReadable paths: input, output, config"),
]  # fmt: skip

MISTAKEN = [
    ("edit_file", {"path": "output/b.md", "old_text": "x", "new_text": ""}, "Cannot edit 'output/b.md': text not found in file.\nSearched for: 'x'"),
    ("read_file", {"path": "output/none.md"}, "File not found: output/none.md"),
    ("read_file", {"path": "output"}, "Not a file: output"),
    ("copy_file", {"source": "input/a.md", "destination": "output/b.md"}, "Destination already exists: output/b.md"),
    ("list_files", {"pattern": "../*"}, "pattern must not contain '..' path segments"),
    ("read_file", {}, "Invalid arguments of read_file: 'path' is missing"),
    ("read_file", {"path": "x", "limit": 5, "offset": -1}, "Invalid arguments of read_file: 'offset' is invalid: Input should be greater than or equal to 0; 'limit' is not an argument of this tool"),
    ("read_file", {"path": None}, "Invalid arguments of read_file: 'path' is invalid: Input should be a valid string"),
    ("read_file", '{"path": "output/', "The arguments of read_file must be a JSON object, and are not JSON"),
    ("read_file", "[" * 100_000, "The arguments of read_file must be a JSON object, and are not JSON"),
    ("read_file", "[1]", "The arguments of read_file must be a JSON object, and are of type list"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "answer"), REFUSED)
def test_a_refusal_is_an_answer(host: Path, tool: str, arguments: Any, answer: str):
    toolset = FileSystemToolset(sandbox(host, suffixes=[".md", ".txt"], max_file_bytes=1000))
    run = Run(toolset, (tool, arguments), (tool, arguments), (tool, arguments))
    assert run.answers == [answer] * 3 and run.outcomes == ["success"] * 3


@pytest.mark.parametrize(("tool", "arguments", "answer"), MISTAKEN)
@pytest.mark.parametrize("retries", [0, 2])
def test_a_mistake_can_be_fixed_and_never_ends_the_run(host: Path, tool: str, arguments: Any, answer: str, retries: int):
    toolset = FileSystemToolset(sandbox(host), max_retries=retries)
    run = Run(toolset, *[(tool, arguments)] * 4)
    assert all(answer in str(given) for given in run.answers) and run.result.output == "done"
    # When the retries are used up, the mistake is an answer, which resets them.
    assert [outcome == "success" for outcome in run.outcomes] == [nth % (retries + 1) == retries for nth in range(4)]


def test_an_answer_has_a_ceiling(host: Path):
    (host / "in/long.md").write_text("x" * 300_000)
    run = Run(FileSystemToolset(sandbox(host)), ("read_file", {"path": "input/long.md", "max_chars": 10**9}))
    assert (run.answers[0].chars_read, run.answers[0].truncated) == (200_000, True)


def test_tools_called_by_hand(host: Path):
    toolset = FileSystemToolset(sandbox(host))

    def call(name: str, arguments: dict[str, Any]) -> Any:
        return asyncio.run(toolset.call_tool(name, arguments, None, None))  # type: ignore[arg-type]

    assert call("read_file", {"path": "input/a.md"}).content == "of the input"
    assert call("read_file", {"path": "input/none"}) == "File not found: input/none"
    assert "surrogates not allowed" in call("write_file", {"path": "output/b.md", "content": "\ud800"})
    with pytest.raises(ValueError, match="^Unknown tool: nothing$"):
        call("nothing", {})


def test_a_subclass_can_do_it_its_own_way(host: Path):
    class Loud(ApprovableFileSystemToolset):
        def write(self, path: str, content: str) -> str:  # type: ignore[override]
            return super().write(path, content.upper())

    loud = Loud(sandbox(host))
    write = ("write_file", {"path": "output/x.md", "content": "x"})
    assert Run(loud, write).answers == ["Written 1 characters to output/x.md"]
    assert (host / "out/x.md").read_text() == "X"
    for decision, content in ((False, None), (True, "X")):
        (host / "out/x.md").unlink(missing_ok=True)
        Run(ApprovalToolset(loud, Asked(approved=decision)), write)
        assert ((host / "out/x.md").read_text() if (host / "out/x.md").exists() else None) == content


# Approvals


def test_the_example_of_the_documents(host: Path):
    controller = ApprovalController(mode="approve_all")
    toolset = ApprovalToolset(
        inner=ApprovableFileSystemToolset(sandbox(host)),
        approval_callback=controller.approval_callback,
        memory=controller.memory,
    )
    assert Run(toolset, ("write_file", {"path": "output/x.md", "content": "x"})).answers == [
        "Written 1 characters to output/x.md"
    ]
    assert toolset.sandbox.readable_roots == ["input", "output", "config"]
    strict = approved(host, ApprovalController(mode="strict").approval_callback)
    assert Run(strict, ("write_file", {"path": "output/x.md", "content": "y"})).answers == [
        "User denied write_file: Strict mode: write_file requires approval"
    ]
    assert (host / "out/x.md").read_text() == "x"


def test_without_a_terminal_calls_are_refused(host: Path):
    toolset = approved(host, ApprovalController(mode="interactive").approval_callback)
    (answer,) = Run(toolset, ("write_file", {"path": "output/x.md", "content": "y"})).answers
    assert answer.startswith("User denied write_file: approval requires a terminal, and there is none")


WHO_IS_ASKED = [
    ("read_file", {"path": "input/a.md"}, None),
    ("read_file", {"path": "config/c.md"}, "Read from config/c.md"),
    ("write_file", {"path": "config/c.md", "content": "x"}, None),
    ("write_file", {"path": "/output//b.md", "content": "four"}, "Write 4 chars to output/b.md"),
    ("edit_file", {"path": "output/b.md", "old_text": "of", "new_text": "x"}, "Edit output/b.md: replace 2 chars with 1 chars"),
    ("edit_file", {"path": "config/c.md", "old_text": "key", "new_text": "x"}, "Edit config/c.md: replace 3 chars with 1 chars"),
    ("delete_file", {"path": "output/b.md"}, "Delete output/b.md"),
    ("delete_file", {"path": "config/c.md"}, None),
    ("move_file", {"source": "output/b.md", "destination": "config/b.md"}, "Move output/b.md to config/b.md"),
    ("move_file", {"source": "config/c.md", "destination": "config/d.md"}, "Move config/c.md to config/d.md"),
    ("copy_file", {"source": "input/a.md", "destination": "output/a.md"}, "Copy input/a.md to output/a.md"),
    ("copy_file", {"source": "input/a.md", "destination": "config/a.md"}, None),
    ("copy_file", {"source": "config/c.md", "destination": "config/d.md"}, "Copy config/c.md to config/d.md"),
    ("list_files", {"path": "config"}, None),
]


@pytest.mark.parametrize(("tool", "arguments", "description"), WHO_IS_ASKED)
def test_questions_describe_the_call(host: Path, tool: str, arguments: dict[str, str], description: str | None):
    before = {path: path.read_text() for path in host.rglob("*") if path.is_file()}
    if description is not None:
        asked = Asked(approved=False, note="not this one")
        run = Run(approved(host, asked), (tool, arguments))
        assert run.answers == [f"User denied {tool}: not this one"]
        assert {path: path.read_text() for path in host.rglob("*") if path.is_file()} == before
        assert [(request.tool_name, request.tool_args, request.description) for request in asked.requests] == [
            (tool, arguments, description)
        ]
    asked = Asked(approved=True)
    run = Run(approved(host, asked), (tool, arguments))
    assert [request.description for request in asked.requests] == ([] if description is None else [description])
    changed = {path: path.read_text() for path in host.rglob("*") if path.is_file()} != before
    assert changed == (tool not in ("read_file", "list_files")), run.answers


NOT_ASKED = [
    ("read_file", {"path": "nope/a"}, "Path not in any sandbox: nope/a"),
    ("write_file", {"path": "input/a.md", "content": "x"}, "Path is read-only: input/a.md"),
    ("edit_file", {"path": "../a.md", "old_text": "x", "new_text": "y"}, "Path not in any sandbox: ../a.md"),
    ("delete_file", {"path": "input/a.md"}, "Path is read-only: input/a.md"),
    ("move_file", {"source": "input/a.md", "destination": "output/a.md"}, "Source is read-only: input/a.md"),
    ("move_file", {"source": "output/b.md", "destination": "input/b.md"}, "Destination is read-only: input/b.md"),
    ("copy_file", {"source": "nope/a", "destination": "output/a.md"}, "Source not in any sandbox: nope/a"),
    ("copy_file", {"source": "input/a.md", "destination": "nope/a"}, "Destination not in any sandbox: nope/a"),
    ("write_file", {"path": "output/a.json", "content": "x"}, "Cannot access 'output/a.json': suffix '.json' not allowed.\nAllowed suffixes: .md"),
    ("write_file", {"path": "output/a.md", "content": "x" * 101}, "Cannot read 'output/a.md': file too large (101 bytes).\nMaximum allowed: 100 bytes"),
    ("write_file", {"content": "x"}, "Invalid arguments of write_file: 'path' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "answer"), NOT_ASKED)
def test_refused_calls_are_not_asked_about(host: Path, tool: str, arguments: dict[str, str], answer: str):
    asked = Asked(approved=True)
    run = Run(approved(host, asked, suffixes=[".md"], max_file_bytes=100), (tool, arguments))
    assert run.answers == [answer] and asked.requests == []


def test_missing_files_are_not_asked_about(host: Path):
    asked = Asked(approved=True)
    calls = [
        ("edit_file", {"path": "output/none.md", "old_text": "x", "new_text": "y"}),
        ("edit_file", {"path": "output/b.md", "old_text": "not in it", "new_text": "y"}),
        ("delete_file", {"path": "output/none.md"}),
        ("read_file", {"path": "config/none.md"}),
    ]
    run = Run(approved(host, asked), *calls)
    assert asked.requests == []
    assert "File not found: output/none.md" in str(run.answers[0]) and "text not found" in str(run.answers[1])


def test_questions_have_a_preview(host: Path):
    asked = Asked(approved=True)
    Run(approved(host, asked), ("edit_file", {"path": "output/b.md", "old_text": "output", "new_text": "other"}))
    preview = asked.requests[0].preview
    assert preview is not None and "-of the output" in preview and "+of the other" in preview


def test_a_file_that_becomes_another_during_the_question_is_not_changed(host: Path):
    def exchange() -> None:
        (host / "out/b.md").unlink()
        (host / "out/b.md").symlink_to("other.md")

    (host / "out/other.md").write_text("other")
    run = Run(approved(host, Asked(approved=True, first=exchange)), ("write_file", {"path": "output/b.md", "content": "x"}))
    assert "changed while approval was pending" in run.answers[0]
    assert (host / "out/other.md").read_text() == "other"


def test_callbacks_are_awaited_in_the_loop_of_the_run(host: Path):
    loops: list[Any] = []

    async def later(request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(0.01)
        loops.append(asyncio.get_running_loop())
        return ApprovalDecision(approved=request.tool_args["path"] == "output/1.md")

    async def run() -> None:
        agent = Agent(TestModel(call_tools=["list_files"]), toolsets=[approved(host, later)])
        await agent.run("go")
        tools = approved(host, later)
        answers = await asyncio.gather(
            *(tools.call_tool("write_file", {"path": f"output/{n}.md", "content": "x"}, None, None) for n in range(3))  # type: ignore[arg-type]
        )
        assert answers[1] == "Written 1 characters to output/1.md"
        assert answers[0] == answers[2] == "User denied write_file: no reason given"
        assert set(loops) == {asyncio.get_running_loop()} and len(loops) == 3

    asyncio.run(run())
    assert sorted(path.name for path in (host / "out").iterdir()) == ["1.md", "b.md"]


def test_questions_can_end_a_run_which_goes_on_with_the_answer(host: Path):
    toolset = ApprovalToolset(ApprovableFileSystemToolset(sandbox(host)))
    write = ("write_file", {"path": "output/b.md", "content": "new"})
    run = Run(toolset, write, output_type=[str, DeferredToolRequests])
    requests = run.result.output
    assert isinstance(requests, DeferredToolRequests) and (host / "out/b.md").read_text() == "of the output"
    ((_, question),) = requests.metadata.items()
    assert question["description"] == "Write 3 chars to output/b.md" and "+new" in question["preview"]
    for approve, content in ((False, "of the output"), (True, "new")):
        results = requests.build_results(approve_all=True) if approve else DeferredToolResults(
            approvals={call.tool_call_id: ToolDenied("no") for call in requests.approvals}
        )  # fmt: skip
        run.agent.run_sync(message_history=run.result.all_messages(), deferred_tool_results=results)
        assert (host / "out/b.md").read_text() == content


def test_an_exception_of_a_callback_is_raised_and_nothing_is_changed(host: Path):
    def broken(request: ApprovalRequest) -> ApprovalDecision:
        raise ModelRetry("ask me later")

    with pytest.raises(UnexpectedModelBehavior):
        Run(approved(host, broken), *[("write_file", {"path": "output/x.md", "content": "x"})] * 2)
    assert not (host / "out/x.md").exists()


def test_an_approval_for_the_session_is_not_asked_about_again(host: Path):
    asked = Asked(approved=True, remember="session")
    write = ("write_file", {"path": "output/x.md", "content": "x"})
    other = ("write_file", {"path": "output/x.md", "content": "other"})
    Run(approved(host, asked), write, write, other)
    assert len(asked.requests) == 2


def test_a_derived_sandbox_asks_as_its_parent_does(host: Path):
    child = sandbox(host).derive(allow_write="output", allow_read=["output", "config"]).derive(allow_write="output")
    asked = Asked(approved=True)
    toolset = ApprovalToolset(ApprovableFileSystemToolset(child), asked)
    calls = [("write_file", {"path": f"{name}/x.md", "content": "x"}) for name in ("output", "config")]
    assert Run(toolset, *calls).answers == ["Written 1 characters to output/x.md", "Path not in any sandbox: config/x.md"]
    assert len(asked.requests) == 1
    reader = ApprovalToolset(ApprovableFileSystemToolset(sandbox(host).derive(allow_read="output")), asked)
    assert Run(reader, calls[0]).answers == ["Path is read-only: output/x.md"]


def test_moving_out_and_reading_there_is_no_way_around(host: Path):
    open_places = {
        "secret": PathConfig(root="config", mode="rw", read_approval=True, write_approval=False),
        "open": PathConfig(root="out", mode="rw", write_approval=False),
    }
    toolset = ApprovableFileSystemToolset(Sandbox(SandboxConfig(paths=open_places), host))
    asked = Asked(approved=False)
    paths = {"source": "secret/c.md", "destination": "open/c.md"}
    run = Run(ApprovalToolset(toolset, asked), ("move_file", paths), ("copy_file", paths))
    assert len(asked.requests) == 2 and all(answer.startswith("User denied") for answer in run.answers)
    assert sorted(os.listdir(host / "out")) == ["b.md"]


def test_descriptions_of_every_kind_of_sandbox(host: Path):
    rooted = Sandbox(SandboxConfig(root=RootSandboxConfig(root=host / "out")))
    mounted = Sandbox(SandboxConfig(mounts=[Mount(host_path=host / "out", mount_point="/docs", mode="rw")]))
    for which, path, expected in [
        (rooted, "b.md", "Delete /b.md"),
        (mounted, "docs/b.md", "Delete /docs/b.md"),
        (mounted, "../x", "Delete ../x"),
    ]:
        toolset = ApprovableFileSystemToolset(which)
        assert toolset.get_approval_description("delete_file", {"path": path}, None) == expected  # type: ignore[arg-type]
    describe = toolset.get_approval_description
    assert describe("list_files", {}, None) == "List files in / matching **/*"  # type: ignore[arg-type]
    assert describe("other", {"a": 1}, None) == "other(a=1)"  # type: ignore[arg-type]
    assert toolset.needs_approval("other", {}, None).is_needs_approval  # type: ignore[arg-type]


def test_an_unknown_tool_is_asked_about_and_then_unknown(host: Path):
    toolset = approved(host, Asked(approved=True))
    with pytest.raises(ValueError, match="Unknown tool: other"):
        asyncio.run(toolset.call_tool("other", {}, None, None))  # type: ignore[arg-type]


def test_a_listing_can_require_approval(host: Path):
    class Careful(ApprovableFileSystemToolset):
        def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: Any) -> Any:
            return super().needs_approval("other", tool_args, ctx)

    for decision, answer in ((True, ["input/a.md"]), (False, "User denied list_files: no reason given")):
        toolset: AbstractToolset[Any] = ApprovalToolset(Careful(sandbox(host)), Asked(approved=decision))
        assert Run(toolset, ("list_files", {"path": "input"})).answers == [answer]
