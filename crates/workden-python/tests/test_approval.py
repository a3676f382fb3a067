"""Approval of tool calls: types, memory, controller, terminal, and a toolset in a real agent."""

from __future__ import annotations

import asyncio
import datetime
import io
import os
import sys
import textwrap
from typing import Any, Union

import pytest
from terminal_programs import TerminalPrograms
import workden.approval
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from scripted_model import Run
from workden.approval import (
    ApprovalController,
    ApprovalDecision,
    ApprovalMemory,
    ApprovalRequest,
    ApprovalResult,
    ApprovalToolset,
    SupportsApprovalDescription,
    SupportsNeedsApproval,
    _terminal,
)

REQUEST = ApprovalRequest(tool_name="push", tool_args={"to": "main"}, description="Push to main")


def pushing() -> tuple[FunctionToolset[Any], list[str]]:
    """A toolset with one tool, and the arguments of its calls."""
    done: list[str] = []
    toolset: FunctionToolset[Any] = FunctionToolset(id="git")

    @toolset.tool_plain
    def push(to: str) -> str:
        done.append(to)
        return f"pushed to {to}"

    return toolset, done


class Asked:
    """A callback that always gives the same answer, and records the requests."""

    def __init__(self, **decision: Any) -> None:
        self.decision = ApprovalDecision(**decision)
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.requests.append(request)
        return self.decision


def test_names_are_there_and_others_are_not():
    assert set(workden.approval.__all__) <= set(dir(workden.approval))
    for name in workden.approval.__all__:
        assert getattr(workden.approval, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        workden.approval.Nothing  # noqa: B018


def test_a_result_is_one_of_three():
    for result, status, flags in [
        (ApprovalResult.blocked("no way"), "blocked", (True, False, False)),
        (ApprovalResult.pre_approved(), "pre_approved", (False, True, False)),
        (ApprovalResult.needs_approval(), "needs_approval", (False, False, True)),
    ]:
        assert result.status == status
        assert (result.is_blocked, result.is_pre_approved, result.is_needs_approval) == flags
    assert ApprovalResult.blocked("no way").block_reason == "no way"


# Memory


def test_memory_remembers_what_is_for_a_session():
    memory = ApprovalMemory()
    memory.store("push", {"to": "main", "n": 1}, ApprovalDecision(approved=True))
    assert memory.lookup("push", {"to": "main", "n": 1}) is None
    decision = ApprovalDecision(approved=True, remember="session")
    memory.store("push", {"to": "main", "n": 1}, decision)
    assert memory.lookup("push", {"n": 1, "to": "main"}) is decision
    assert memory.lookup("push", {"n": 2, "to": "main"}) is None
    assert memory.lookup("pull", {"n": 1, "to": "main"}) is None
    assert memory.list_approvals() == [("push", {"to": "main", "n": 1}, decision)]
    assert len(memory) == 1
    memory.clear()
    assert len(memory) == 0 and memory


def test_memory_tells_models_and_dates_apart():
    class Branch(BaseModel):
        name: str

    memory = ApprovalMemory()
    decision = ApprovalDecision(approved=True, remember="session")
    memory.store("push", {"to": Branch(name="main"), "on": datetime.date(2026, 1, 1), "x": object}, decision)
    assert memory.lookup("push", {"to": Branch(name="main"), "on": datetime.date(2026, 1, 1), "x": object}) is decision
    assert memory.lookup("push", {"to": Branch(name="dev"), "on": datetime.date(2026, 1, 1), "x": object}) is None


# The controller


def test_modes_answer_by_themselves_also_where_there_is_a_callback():
    for callback in (None, Asked(approved=True)):
        strict = ApprovalController(mode="strict", approval_callback=callback)
        for decision in (
            strict.request_approval_sync(REQUEST),
            asyncio.run(strict.request_approval(REQUEST)),
            strict.approval_callback(REQUEST),
        ):
            assert decision == ApprovalDecision(approved=False, note="Strict mode: push requires approval")
    for callback in (None, Asked(approved=False)):
        all = ApprovalController(mode="approve_all", approval_callback=callback)
        for decision in (
            all.request_approval_sync(REQUEST),
            asyncio.run(all.request_approval(REQUEST)),
            all.approval_callback(REQUEST),
        ):
            assert decision == ApprovalDecision(approved=True)


def test_an_interactive_controller_asks_its_callback_and_remembers():
    asked = Asked(approved=True, remember="session")
    controller = ApprovalController(approval_callback=asked)
    assert controller.approval_callback is asked
    assert not controller.is_session_approved(REQUEST)
    assert controller.request_approval_sync(REQUEST).approved
    assert controller.request_approval_sync(REQUEST).approved
    assert asyncio.run(controller.request_approval(REQUEST)).approved
    assert len(asked.requests) == 1
    assert controller.is_session_approved(REQUEST) and len(controller.memory) == 1
    controller.clear_session_approvals()
    assert not controller.is_session_approved(REQUEST)


def test_a_denial_is_not_remembered():
    asked = Asked(approved=False, remember="session")
    controller = ApprovalController(approval_callback=asked)
    for _ in range(2):
        assert not asyncio.run(controller.request_approval(REQUEST)).approved
    assert len(asked.requests) == 2


def test_callbacks_may_be_awaited():
    async def later(request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(0)
        return ApprovalDecision(approved=True)

    controller = ApprovalController(approval_callback=later)
    assert asyncio.run(controller.request_approval(REQUEST)).approved
    with pytest.raises(TypeError, match="requires a sync callback"):
        controller.request_approval_sync(REQUEST)


# The terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_the_answer_is_no(monkeypatch: pytest.MonkeyPatch):
    closed = io.StringIO()
    closed.close()
    without_terminal = [(io.StringIO("y\n"), Terminal()), (Terminal("y\n"), io.StringIO()), (None, None), (closed, closed)]
    for stdin, stderr in without_terminal:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        decision = ApprovalController(mode="interactive").approval_callback(REQUEST)
        assert isinstance(decision, ApprovalDecision) and not decision.approved
        assert decision.note is not None and decision.note.startswith("approval requires a terminal, and there is none")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("y\n", ApprovalDecision(approved=True)),
        (" YES \n", ApprovalDecision(approved=True)),
        ("s\n", ApprovalDecision(approved=True, remember="session")),
        ("n\n", ApprovalDecision(approved=False)),
        ("no, use dev instead\n", ApprovalDecision(approved=False, note="use dev instead")),
        ("\nwhat?\ny but carefully\ny\n", ApprovalDecision(approved=True)),
        ("", ApprovalDecision(approved=False, note="the terminal was closed")),
    ],
)
def test_answers_at_a_terminal(monkeypatch: pytest.MonkeyPatch, typed: str, expected: ApprovalDecision):
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert _terminal.prompt(REQUEST) == expected


def test_a_terminal_shows_the_change_and_no_control_characters(monkeypatch: pytest.MonkeyPatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys, "stderr", shown)
    request = REQUEST.model_copy(update={"description": "Write \x1b[2Jä\r", "preview": "-old\n+new\x07\n"})
    _terminal.prompt(request)
    assert shown.getvalue().startswith("\nApproval needed: Write \\x1b[2Jä\\r\n-old\n+new\\x07\n\n[y]es")


PROGRAM = """
    import sys
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.toolsets import FunctionToolset
    from workden.approval import ApprovalController, ApprovalToolset

    tools = FunctionToolset()

    @tools.tool_plain
    def push(to: str) -> str:
        return f"pushed to {to}"

    controller = ApprovalController(mode="interactive")
    toolset = ApprovalToolset(tools, controller.approval_callback, controller.memory)
    print(Agent(TestModel(), toolsets=[toolset]).run_sync("go").output)
"""


def test_a_person_is_asked_at_a_real_terminal(terminal_programs: TerminalPrograms):
    seen = b""
    with terminal_programs.start(textwrap.dedent(PROGRAM)) as program:
        while b"for the session: " not in seen:
            seen += os.read(program.terminal, 1024)
        assert b"Approval needed: push(to='a')" in seen
        os.write(program.terminal, b"no not today\n")
        seen += program.rest()
        assert program.wait() == 0
    assert b'{"push":"User denied push: not today"}' in seen


# The toolset


def test_an_approved_call_runs_and_a_denial_is_an_answer():
    toolset, done = pushing()
    asked = Asked(approved=True)
    run = Run(ApprovalToolset(inner=toolset, approval_callback=asked), ("push", {"to": "main"}))
    assert run.answers == ["pushed to main"] and done == ["main"]
    assert asked.requests == [
        ApprovalRequest(tool_name="push", tool_args={"to": "main"}, description="push(to='main')")
    ]
    for note, answer in [(None, "User denied push: no reason given"), ("not now", "User denied push: not now")]:
        toolset, done = pushing()
        run = Run(ApprovalToolset(toolset, Asked(approved=False, note=note)), ("push", {"to": "main"}))
        assert run.answers == [answer] and done == [] and run.result.output == "done"


def test_a_callback_that_answers_something_else_is_told_what_to_answer():
    toolset, done = pushing()
    with pytest.raises(TypeError, match=r"must return an ApprovalDecision\(approved=...\), not bool"):
        Run(ApprovalToolset(toolset, lambda _: True), ("push", {"to": "main"}))  # type: ignore[arg-type,return-value]
    assert done == []


def test_callbacks_are_awaited_in_a_run():
    async def later(request: ApprovalRequest) -> ApprovalDecision:
        await asyncio.sleep(0)
        return ApprovalDecision(approved=request.tool_args["to"] == "dev")

    toolset, done = pushing()
    run = Run(ApprovalToolset(toolset, later), ("push", {"to": "main"}), ("push", {"to": "dev"}))
    assert run.answers == ["User denied push: no reason given", "pushed to dev"] and done == ["dev"]


def test_the_memory_of_a_controller_is_used_although_it_is_empty():
    asked = Asked(approved=True, remember="session")
    controller = ApprovalController(approval_callback=asked)
    toolset, done = pushing()
    approved = ApprovalToolset(toolset, controller.approval_callback, memory=controller.memory)
    Run(approved, ("push", {"to": "main"}), ("push", {"to": "main"}), ("push", {"to": "dev"}))
    assert done == ["main", "main", "dev"] and len(asked.requests) == 2
    assert [args for _, args, _ in controller.memory.list_approvals()] == [{"to": "main"}, {"to": "dev"}]
    controller.clear_session_approvals()
    Run(approved, ("push", {"to": "main"}))
    assert len(asked.requests) == 3


def test_a_denial_for_the_session_is_asked_about_again():
    asked = Asked(approved=False, remember="session")
    toolset, _ = pushing()
    Run(ApprovalToolset(toolset, asked), ("push", {"to": "main"}), ("push", {"to": "main"}))
    assert len(asked.requests) == 2


def test_some_tools_are_approved_before():
    toolset, done = pushing()
    asked = Asked(approved=False)
    Run(ApprovalToolset(toolset, asked, config={"push": {"pre_approved": True}}), ("push", {"to": "main"}))
    assert done == ["main"] and asked.requests == []


def test_an_approval_by_pydantic_ai_is_not_repeated():
    toolset, done = pushing()
    approved = ApprovalToolset(toolset, Asked(approved=False))
    agent = Agent(TestModel(), toolsets=[approved.approval_required()], output_type=[str, DeferredToolRequests])
    first = agent.run_sync("go")
    assert isinstance(first.output, DeferredToolRequests)
    answers = first.output.build_results(approve_all=True)
    agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)
    assert done == ["a"]


@pytest.mark.parametrize("output_type", [[str, DeferredToolRequests], Union[str, DeferredToolRequests]])
def test_without_a_callback_an_agent_that_takes_questions_is_given_them(output_type: Any):
    toolset, done = pushing()
    agent = Agent(TestModel(), toolsets=[ApprovalToolset(toolset)], output_type=output_type)
    first = agent.run_sync("go")
    assert isinstance(first.output, DeferredToolRequests) and done == []
    ((_, question),) = first.output.metadata.items()
    assert question == {"description": "push(to='a')", "preview": None}
    answers = first.output.build_results(approve_all=True)
    agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)
    assert done == ["a"]


def test_without_a_callback_another_agent_asks_at_the_terminal(monkeypatch: pytest.MonkeyPatch):
    toolset, done = pushing()
    monkeypatch.setattr(sys, "stdin", Terminal("n\ny\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    run = Run(ApprovalToolset(toolset), ("push", {"to": "main"}), ("push", {"to": "dev"}))
    assert run.answers == ["User denied push: no reason given", "pushed to dev"] and done == ["dev"]


def test_an_exception_of_a_callback_is_raised():
    def broken(request: ApprovalRequest) -> ApprovalDecision:
        raise RuntimeError("no connection")

    toolset, done = pushing()
    with pytest.raises(RuntimeError, match="no connection"):
        Run(ApprovalToolset(toolset, broken), ("push", {"to": "main"}))
    assert done == []


class Careful(AbstractToolset[Any]):
    """A toolset that decides itself which calls require approval, sync or async."""

    def __init__(self, *, later: bool) -> None:
        self.inner, self.done = pushing()
        self.later = later
        self.color = "green"

    @property
    def id(self) -> str | None:
        return "careful"

    async def get_tools(self, ctx: Any) -> Any:
        return await self.inner.get_tools(ctx)

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await self.inner.call_tool(name, tool_args, ctx, tool)

    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: Any) -> Any:
        results = {"prod": ApprovalResult.blocked("never to prod"), "dev": ApprovalResult.pre_approved()}
        result = results.get(tool_args["to"], ApprovalResult.needs_approval())

        async def later() -> ApprovalResult:
            return result

        return later() if self.later else result

    def get_approval_description(self, name: str, tool_args: dict[str, Any], ctx: Any) -> str:
        return f"Push it to {tool_args['to']}"


@pytest.mark.parametrize("later", [False, True])
def test_a_toolset_can_say_itself_what_has_to_be_approved(later: bool):
    careful, asked = Careful(later=later), Asked(approved=True)
    assert isinstance(careful, SupportsNeedsApproval) and isinstance(careful, SupportsApprovalDescription)
    approved = ApprovalToolset(careful, asked)
    run = Run(approved, *[("push", {"to": to}) for to in ("prod", "dev", "main")])
    assert run.answers == ["never to prod", "pushed to dev", "pushed to main"]
    assert [request.description for request in asked.requests] == ["Push it to main"]
    assert approved.id == "careful" and approved.color == "green"
    with pytest.raises(AttributeError):
        approved.colour  # noqa: B018
    with pytest.raises(AttributeError):
        object.__new__(ApprovalToolset).color  # noqa: B018


def test_the_wrapped_toolset_may_be_replaced_for_a_run():
    class ForRun(FunctionToolset[Any]):
        async def for_run(self, ctx: Any) -> AbstractToolset[Any]:
            return inner

    inner, done = pushing()
    outer = ApprovalToolset(ForRun(), Asked(approved=True), config={"x": {}})
    run = Run(outer, ("push", {"to": "main"}))
    assert run.answers == ["pushed to main"] and done == ["main"]
    replaced = outer.visit_and_replace(lambda toolset: inner)
    assert isinstance(replaced, ApprovalToolset) and replaced.wrapped is inner and replaced.config == outer.config
    assert outer.visit_and_replace(lambda toolset: toolset) is outer


def test_a_retry_of_the_tool_stays_one():
    toolset: FunctionToolset[Any] = FunctionToolset()

    @toolset.tool_plain
    def push(to: str) -> str:
        if to == "man":
            raise ModelRetry("no such branch")
        return "pushed"

    run = Run(ApprovalToolset(toolset, Asked(approved=True)), ("push", {"to": "man"}), ("push", {"to": "main"}))
    assert "no such branch" in str(run.answers[0]) and run.answers[1] == "pushed"
