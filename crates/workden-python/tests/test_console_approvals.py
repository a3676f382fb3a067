"""Sources of approvals: the caller of the run, a capability, a callback, the terminal, or none."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from terminal_programs import TerminalPrograms
from waiting import until_async
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import ToolApproved
from scripted import Deps, PlainBackend, PlainSandbox, Script, answers, run

from workden import _ask_callbacks
from workden._terminal import is_interactive
from workden.adapter import ensure_async
from workden.backends.composite import CompositeBackend
from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.permissions import DEFAULT_RULESET, PermissionRuleset
from workden.toolsets import _approvals, _deferred, _terminal, _toolset
from workden.toolsets.console import create_console_toolset

WRITE = ("write_file", {"path": "a.txt", "content": "new\n"})
EXECUTE = ("execute", {"command": "echo ran >> ran.txt"})
QUESTIONS = [str, DeferredToolRequests]


def asking(calls: list[Any], **options: Any) -> Agent[Any, Any]:
    """An agent whose runs may end with questions."""
    return Script(calls).agent(create_console_toolset(**options), output_type=QUESTIONS)


# Flags


async def test_the_quick_start_runs_as_it_is_written(local: LocalBackend) -> None:
    script = "a, b = 0, 1\nfor _ in range(10):\n    print(a, end=' ')\n    a, b = b, a + b\n"
    wrote, ran = await run(
        create_console_toolset(),
        local,
        ("write_file", {"path": "fibonacci.py", "content": script}),
        ("execute", {"command": f"{sys.executable} fibonacci.py"}),
    )
    assert wrote.startswith("Wrote 4 lines to ") and ran == "0 1 1 2 3 5 8 13 21 34 "


async def test_an_explicit_approval_flag_is_enforced(local: LocalBackend, tmp_path: Path) -> None:
    toolset = create_console_toolset(require_write_approval=True, require_execute_approval=True)
    wrote, ran, started, listed = await run(
        toolset, local, WRITE, EXECUTE, ("run_in_background", EXECUTE[1]), ("list_shells", {})
    )
    for refused in (wrote, ran, started):
        assert refused.startswith("Error: ") and "approv" in refused
    assert listed == "No background shells." and list(tmp_path.iterdir()) == []
    assert await run(create_console_toolset(require_execute_approval=False), local, EXECUTE) == ["(no output)"]


async def test_rules_that_ask_are_not_overridden_by_a_default_flag(tmp_path: Path) -> None:
    backend = LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET)
    wrote, ran = await run(create_console_toolset(), backend, WRITE, EXECUTE)
    assert "approv" in wrote and "approv" in ran
    ran = await run(create_console_toolset(permissions=DEFAULT_RULESET), LocalBackend(root_dir=tmp_path), EXECUTE)
    assert "approv" in ran[0] and list(tmp_path.iterdir()) == []


# The caller of the run


@pytest.mark.parametrize("approved", [True, False, ToolDenied("not today")])
@pytest.mark.parametrize("call", [WRITE, EXECUTE])
async def test_a_run_ends_with_the_question_and_goes_on_with_the_answer(
    local: LocalBackend, tmp_path: Path, call: Any, approved: Any
) -> None:
    agent = asking([call], require_write_approval=True)
    first = await agent.run("go", deps=Deps(local))
    requests = first.output
    assert isinstance(requests, DeferredToolRequests)
    assert [(part.tool_name, part.args) for part in requests.approvals] == [call]
    about = requests.metadata["call-0"]
    operation, target = ("write", str(tmp_path / "a.txt")) if call is WRITE else ("execute", "echo ran >> ran.txt")
    assert (about["operation"], about["target"]) == (operation, target)
    assert list(tmp_path.iterdir()) == []
    results = DeferredToolResults(approvals={"call-0": approved})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results, deps=Deps(local))
    assert second.output == "done"
    said = answers(second.all_messages())
    if approved is True:
        assert said == [f"Wrote 1 lines to {tmp_path}/a.txt" if call is WRITE else "(no output)"]
    else:
        assert said == ["not today" if isinstance(approved, ToolDenied) else "The tool call was denied."]
    assert [path.name for path in tmp_path.iterdir()] == (["a.txt" if call is WRITE else "ran.txt"] if approved is True else [])


async def test_the_question_shows_what_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    agent = asking([WRITE], permissions=DEFAULT_RULESET)
    requests = (await agent.run("go", deps=Deps(LocalBackend(root_dir=tmp_path)))).output
    preview = requests.metadata["call-0"]["preview"]
    assert "-old" in preview and "+new" in preview


@pytest.mark.parametrize("hands_on", [False, True])
async def test_a_change_since_the_question_is_asked_about_again(
    local: LocalBackend, tmp_path: Path, hands_on: bool
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    agent = asking([WRITE], require_write_approval=True)
    first = await agent.run("go", deps=Deps(local))
    if hands_on:
        # The answer may arrive in another process, which has no memory of the question: then it carries the question.
        agent = asking([WRITE], require_write_approval=True)
    results = DeferredToolResults(
        approvals={"call-0": True}, metadata=first.output.metadata if hands_on else {}
    )
    (tmp_path / "a.txt").write_text("something else\n")
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results, deps=Deps(local))
    assert "-something else" in second.output.metadata["call-0"]["preview"]
    results = DeferredToolResults(approvals={"call-0": True}, metadata=second.output.metadata if hands_on else {})
    third = await agent.run(message_history=second.all_messages(), deferred_tool_results=results, deps=Deps(local))
    assert third.output == "done" and (tmp_path / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize("hands_on", [False, True])
async def test_a_path_that_leads_elsewhere_since_the_question_is_asked_about_again(
    local: LocalBackend, tmp_path: Path, hands_on: bool
) -> None:
    for name in ("a.txt", "other.txt"):
        (tmp_path / name).write_text("the same\n")
    agent = asking([WRITE], require_write_approval=True)
    first = await agent.run("go", deps=Deps(local))
    if hands_on:
        agent = asking([WRITE], require_write_approval=True)
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").symlink_to("other.txt")
    results = DeferredToolResults(approvals={"call-0": True}, metadata=first.output.metadata if hands_on else {})
    second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results, deps=Deps(local))
    assert second.output.metadata["call-0"]["leads_to"] == [str(tmp_path / "other.txt")]
    assert (tmp_path / "other.txt").read_text() == "the same\n"


async def test_an_approval_may_change_the_arguments(local: LocalBackend, tmp_path: Path) -> None:
    agent = asking([WRITE], require_write_approval=True)
    first = await agent.run("go", deps=Deps(local))
    changed = ToolApproved(override_args={"path": "b.txt", "content": "other"})
    results = DeferredToolResults(approvals={"call-0": changed})
    await agent.run(message_history=first.all_messages(), deferred_tool_results=results, deps=Deps(local))
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_the_output_type_says_whether_a_run_takes_questions() -> None:
    takes = _deferred.takes_deferred
    assert takes(DeferredToolRequests) and takes([str, DeferredToolRequests]) and takes((str, [DeferredToolRequests]))
    assert takes(str | DeferredToolRequests)
    assert not takes(str) and not takes([str, int]) and not takes("DeferredToolRequests") and not takes(dict[str, int])


async def test_it_can_be_said_that_a_run_takes_questions(local: LocalBackend) -> None:
    agent = Script([EXECUTE]).agent(create_console_toolset(deferred_approvals=True))
    result = await agent.run("go", deps=Deps(local), output_type=QUESTIONS)
    assert isinstance(result.output, DeferredToolRequests)
    agent = asking([EXECUTE], deferred_approvals=False)
    result = await agent.run("go", deps=Deps(local), output_type=str)
    assert answers(result.all_messages()) == ["(no output)"]


async def test_unanswered_questions_are_forgotten(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_toolset, "_MOST_QUESTIONS", 2)
    console = _toolset.Console({"images": False, "documents": False})
    for number in range(4):
        console._remember(SimpleNamespace(tool_call_id=str(number)), {})  # type: ignore[arg-type]
    assert list(console._questions) == ["2", "3"]


async def test_reads_ask_too_where_rules_say_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    calls = [("read_file", {"path": "a.txt"}), ("edit_file", {"path": "a.txt", "old_string": "x", "new_string": "y"})]
    agent = asking(calls, permissions=PermissionRuleset(default="ask"))
    result = await agent.run("go", deps=Deps(LocalBackend(root_dir=tmp_path)))
    rounds = 0
    while isinstance(result.output, DeferredToolRequests):
        rounds += 1
        results = result.output.build_results(approve_all=True)
        history = result.all_messages()
        result = await agent.run(
            message_history=history, deferred_tool_results=results, deps=Deps(LocalBackend(root_dir=tmp_path))
        )
    # One question per call, regardless of the number of operations.
    assert rounds == 2 and (tmp_path / "a.txt").read_text() == "y"


async def test_rules_of_a_backend_inside_of_another_ask_the_same(tmp_path: Path) -> None:
    inner = LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET)
    backend = CompositeBackend(default=inner, routes={"/notes/": StateBackend()})
    calls = [WRITE, EXECUTE, ("write_file", {"path": "/notes/a.txt", "content": "x"})]
    agent = asking(calls)
    result = await agent.run("go", deps=Deps(backend))
    for name in ("a.txt", "ran.txt"):
        assert isinstance(result.output, DeferredToolRequests) and not (tmp_path / name).exists()
        results = result.output.build_results(approve_all=True)
        result = await agent.run(message_history=result.all_messages(), deferred_tool_results=results, deps=Deps(backend))
        assert (tmp_path / name).exists()
    assert result.output == "done" and answers(result.all_messages())[-1] == "Wrote 1 lines to /notes/a.txt"


# A capability of the agent


def handler(decide: Any) -> tuple[HandleDeferredToolCalls[Any], list[Any]]:
    seen: list[Any] = []

    async def handle(ctx: Any, requests: DeferredToolRequests) -> Any:
        seen.extend((part.tool_name, part.args, requests.metadata[part.tool_call_id]["target"]) for part in requests.approvals)
        return decide(requests)

    return HandleDeferredToolCalls(handle), seen


async def test_a_capability_that_handles_deferred_calls_is_asked(local: LocalBackend, tmp_path: Path) -> None:
    yes, seen = handler(lambda requests: requests.build_results(approve_all=True))
    assert await run(create_console_toolset(), local, EXECUTE, capabilities=[yes]) == ["(no output)"]
    assert seen == [(*EXECUTE, "echo ran >> ran.txt")]
    no, _ = handler(lambda requests: requests.build_results(approvals={"call-0": ToolDenied("not now")}))
    (said,) = await run(create_console_toolset(), local, EXECUTE, capabilities=[no])
    assert said.startswith("Error: ") and "not now" in said
    assert (tmp_path / "ran.txt").read_text() == "ran\n"


async def test_a_capability_that_declines_leaves_it_to_the_next(tmp_path: Path) -> None:
    declines, seen = handler(lambda requests: None)
    asked: list[Any] = []

    async def callback(*question: str) -> bool:
        asked.append(question)
        return True

    backend = LocalBackend(root_dir=tmp_path, ask_callback=callback)
    assert await run(create_console_toolset(), backend, EXECUTE, capabilities=[declines]) == ["(no output)"]
    assert len(seen) == len(asked) == 1
    # No source is left: the explicit request for approval holds, and the run continues.
    toolset = create_console_toolset(require_execute_approval=True)
    (said,) = await run(toolset, LocalBackend(root_dir=tmp_path), EXECUTE, capabilities=[declines])
    assert "approv" in said


async def test_a_capability_may_change_the_arguments(local: LocalBackend, tmp_path: Path) -> None:
    changed = ToolApproved(override_args={"command": "echo other > other.txt"})
    changes, _ = handler(lambda requests: requests.build_results(approvals={"call-0": changed}))
    await run(create_console_toolset(), local, EXECUTE, capabilities=[changes])
    assert [path.name for path in tmp_path.iterdir()] == ["other.txt"]


# The callback


@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("approves", [True, False])
async def test_the_callback_is_asked(tmp_path: Path, later: bool, approves: bool) -> None:
    asked: list[Any] = []

    def callback(operation: str, target: str, reason: str) -> bool:
        asked.append((operation, target))
        return approves

    async def awaited_callback(operation: str, target: str, reason: str) -> bool:
        return callback(operation, target, reason)

    chosen: Any = awaited_callback if later else callback
    for backend, toolset in [
        (LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET, ask_callback=chosen), create_console_toolset()),
        (LocalBackend(root_dir=tmp_path), create_console_toolset(permissions=DEFAULT_RULESET, ask_callback=chosen)),
    ]:
        asked.clear()
        wrote, ran = await run(toolset, backend, WRITE, ("execute", {"command": "true"}))
        assert asked == [("write", str(tmp_path / "a.txt")), ("execute", "true")]
        assert wrote.startswith("Wrote") is approves and (ran == "(no output)") is approves


async def test_a_callback_that_fails_is_a_no(tmp_path: Path) -> None:
    def callback(*_: str) -> bool:
        raise RuntimeError("gone home")

    backend = LocalBackend(root_dir=tmp_path, ask_callback=callback)  # type: ignore[arg-type]
    (said,) = await run(create_console_toolset(), backend, EXECUTE)
    assert said.startswith("Error: ") and "gone home" in said


async def test_rules_over_a_custom_backend_ask_the_callback() -> None:
    plain, asked = PlainSandbox(), []

    def callback(*question: str) -> bool:
        asked.append(question[:2])
        return question[0] == "write"

    toolset = create_console_toolset(permissions=DEFAULT_RULESET, ask_callback=callback)  # type: ignore[arg-type]
    wrote, ran = await run(toolset, plain, WRITE, EXECUTE)
    assert asked == [("write", "/a.txt"), ("execute", EXECUTE[1]["command"])]
    assert wrote == "Wrote 1 lines to /a.txt" and ran.startswith("Error: ")


async def test_a_tool_that_is_called_by_hand_asks_the_callback(tmp_path: Path) -> None:
    backend = LocalBackend(root_dir=tmp_path, ask_callback=lambda *_: True)  # type: ignore[arg-type]
    tool = create_console_toolset(require_write_approval=True).tools["write_file"]
    ctx: Any = SimpleNamespace(deps=Deps(backend))
    assert (await tool.function(ctx, **WRITE[1])).startswith("Wrote")
    ctx = SimpleNamespace(deps=Deps(PlainBackend()))
    assert "approv" in await tool.function(ctx, **WRITE[1])


async def test_outside_of_tools_the_callback_of_the_backend_is_asked(tmp_path: Path) -> None:
    asked: list[Any] = []

    def callback(operation: str, target: str, reason: str) -> bool:
        asked.append((operation, target))
        return True

    backend = LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET, ask_callback=callback)  # type: ignore[arg-type]
    assert (await ensure_async(backend).write("a.txt", "x")).error is None
    assert backend.write("b.txt", "x").error is None
    assert asked == [("write", str(tmp_path / "a.txt")), ("write", str(tmp_path / "b.txt"))]
    alone = LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET, ask_fallback="deny")
    assert "(approval required)" in (await ensure_async(alone).write("c.txt", "x")).error


def test_a_question_without_a_rule_is_about_what_is_done() -> None:
    why = {"why": "it is said so", "refusal": None}
    about = _ask_callbacks.callback_arguments({**why, "call": "move", "paths": [{"typed": "/a"}, {"typed": "/b"}], "command": None})
    assert about == ("move", "/a, /b", "it is said so")
    about = _ask_callbacks.callback_arguments({**why, "call": "execute", "paths": [], "command": {"script": "ls"}})
    assert about == ("execute", "ls", "it is said so")


# The terminal

AT_TERMINAL = """
import asyncio, sys
from scripted import Deps, Script, answers
from workden.backends.local import LocalBackend
from workden.toolsets.console import create_console_toolset
root, fallback, command = sys.argv[1:]
toolset = create_console_toolset(require_write_approval=True, ask_fallback=fallback)
calls = [("write_file", {"path": "a.txt", "content": "line\\n" * 60}), ("execute", {"command": command})]
result = Script(calls).agent(toolset).run_sync("go", deps=Deps(LocalBackend(root_dir=root)))
print("ANSWERS", answers(result.all_messages()))
"""


AtTerminal = Callable[..., str]


@pytest.fixture
def at_terminal(terminal_programs: TerminalPrograms, tmp_path: Path) -> AtTerminal:
    """Returns the terminal output of such a program. `types` has a line for each question."""

    def run(types: bytes, fallback: str = "error", command: str = "echo hi", ends: int | None = 0) -> str:
        shown, typed, asked = b"", types.splitlines(keepends=True), 0
        with terminal_programs.start(AT_TERMINAL, str(tmp_path), fallback, command) as program:
            while True:
                try:
                    shown += os.read(program.terminal, 65536)
                except OSError:
                    break
                if shown.count(b"Allow it? [y/N]") > asked and typed:
                    asked += 1
                    os.write(program.terminal, typed.pop(0))
            code = program.wait()
        assert ends is None or code == ends, shown
        return shown.decode()

    return run


def test_questions_are_asked_at_the_terminal(at_terminal: AtTerminal, tmp_path: Path) -> None:
    shown = at_terminal(b"y\nno\n", command="echo \x1b[2Jgone")
    assert f"The agent wants to write: {tmp_path}/a.txt" in shown and "CAREFUL: not shown are 21 lines" in shown
    # The approved text is the text shown.
    assert "The agent wants to execute: echo \\x1b[2Jgone" in shown and "\x1b[2J" not in shown.split("ANSWERS")[0]
    assert f"ANSWERS ['Wrote 60 lines to {tmp_path}/a.txt', 'Error: " in shown


def test_a_closed_terminal_gives_no_approval(at_terminal: AtTerminal, tmp_path: Path) -> None:
    shown = at_terminal(b"\x04\x04")
    assert "ANSWERS ['Error: " in shown and list(tmp_path.iterdir()) == []


def test_a_terminal_that_is_not_to_be_used_shows_no_question(at_terminal: AtTerminal, tmp_path: Path) -> None:
    shown = at_terminal(b"", fallback="deny")
    assert "Allow it?" not in shown and "ANSWERS ['Error: " in shown


@contextlib.contextmanager
def terminal() -> Iterator[int]:
    """Gives this program a terminal, and returns its other end."""
    master, slave = pty.openpty()
    with open(slave) as typed, open(slave, "w", closefd=False) as shown, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", typed)
        patch.setattr("sys.stderr", shown)
        yield master
    os.close(master)


async def test_the_terminal_as_such() -> None:
    asked = {"operation": "execute", "target": "rm\u202e -rf", "reason": "Block dangerous commands"}
    asked |= {"preview": "+\n" * 50, "left_out": "3 lines"}
    with terminal() as other_end:
        assert is_interactive()
        for typed, expected in [(b"y\n", True), (b"YES\n", True), (b"\n", False), (b"\x04", None)]:
            os.write(other_end, typed)
            assert await _terminal.answer(asked) is expected
        said = os.read(other_end, 65536).decode()
    assert "The agent wants to execute: rm\\u202e -rf" in said and "| +" in said
    careful = said.index("CAREFUL: not shown are 3 lines and 10 lines of the diff")
    assert careful < said.index("The agent wants")
    assert "Approval required: Block dangerous commands" in said


async def test_a_question_that_is_given_up_does_not_wait_for_an_answer() -> None:
    asked = {"operation": "execute", "target": "ls", "reason": "", "preview": None, "left_out": None}
    with terminal() as other_end:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_terminal.answer(asked), 0.1)
        os.write(other_end, b"y\n")
        assert await _terminal.answer(asked) is True


def test_ctrl_c_at_a_question_ends_the_program(at_terminal: AtTerminal, tmp_path: Path) -> None:
    shown = at_terminal(b"\x03\n", ends=None)
    assert "KeyboardInterrupt" in shown and "ANSWERS" not in shown


async def test_the_terminal_is_the_last_to_be_asked(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_approvals, "is_interactive", lambda: True)
    monkeypatch.setattr(_terminal, "ask", lambda asked, _: asked["operation"] == "execute")
    wrote, ran = await run(create_console_toolset(require_write_approval=True), local, WRITE, EXECUTE)
    assert wrote.startswith("Error: ") and ran == "(no output)"


async def test_a_run_that_is_cancelled_ends_its_command(local: LocalBackend, tmp_path: Path) -> None:
    script = Script([("execute", {"command": "echo $$ > pid; sleep 6000; echo on >> pid"})])
    running = asyncio.create_task(script.agent(create_console_toolset()).run("go", deps=Deps(local)))
    pid = tmp_path / "pid"
    await until_async(lambda: pid.exists() and pid.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    process = Path(f"/proc/{pid.read_text().strip()}")
    await until_async(lambda: not process.exists())


def test_it_works_without_a_running_loop(local: LocalBackend) -> None:
    script = Script([EXECUTE])
    agent = Agent(FunctionModel(script), toolsets=[create_console_toolset()])
    assert agent.run_sync("go", deps=Deps(local)).output == "done"
