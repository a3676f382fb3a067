"""`on_denied="raise"`: denied calls raise `PermissionError`, in backends, in the console and in approvals."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.agent.spec import AgentSpec
from pydantic_ai.models.function import FunctionModel
from scripted import Deps, Script, answers

from workden import ConsoleCapability, LinuxSandbox, LocalBackend, create_console_toolset, ensure_async
from workden.approval import ApprovalController, ApprovalDecision, ApprovalResult, ApprovalToolset
from workden.filesystem import ApprovableFileSystemToolset, RootSandboxConfig, Sandbox, SandboxConfig
from workden.permissions import PermissionAskError

RULES = {
    "default": "allow",
    "read": {"rules": [{"pattern": "**/secret*", "action": "deny", "description": "Secrets are closed"}]},
    "write": {"default": "deny"},
    "edit": {"default": "deny"},
    "execute": {"default": "deny"},
}
CALLS: list[tuple[str, tuple[Any, ...], str]] = [
    ("write", ("a.txt", "x"), r"^Permission denied for write on '.*/a\.txt'$"),
    ("edit", ("notes.txt", "a", "b"), r"^Permission denied for edit on '.*/notes\.txt'$"),
    ("read", ("secret.txt",), "^Permission denied: Secrets are closed$"),
    ("read_bytes", ("secret.txt",), "^Permission denied: Secrets are closed$"),
    ("execute", ("touch a.txt",), "^Permission denied"),
    ("execute_background", ("touch a.txt",), "^Permission denied"),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("s")
    return tmp_path


@pytest.mark.parametrize(("method", "arguments", "message"), CALLS)
@pytest.mark.parametrize("kind", [LocalBackend, LinuxSandbox])
def test_a_denied_call_of_a_backend_raises(files: Path, kind: Any, method: str, arguments: Any, message: str) -> None:
    with kind(root_dir=files, permissions=RULES, on_denied="raise") as backend:
        with pytest.raises(PermissionError, match=message):
            getattr(backend, method)(*arguments)
        assert backend.read("notes.txt") == "     1\ta"
    assert sorted(path.name for path in files.iterdir()) == ["notes.txt", "secret.txt"]


@pytest.mark.parametrize(("method", "arguments", "message"), CALLS)
async def test_an_awaited_call_raises_as_well(files: Path, method: str, arguments: Any, message: str) -> None:
    backend = ensure_async(LocalBackend(files, permissions=RULES, on_denied="raise"))
    with pytest.raises(PermissionError, match=message):
        await getattr(backend, method)(*arguments)


@pytest.mark.parametrize(
    ("method", "arguments"), [("read", ("/etc/hostname",)), ("ls_info", ("/etc",)), ("grep_raw", ("x", "/etc"))]
)
def test_a_path_outside_raises(files: Path, method: str, arguments: Any) -> None:
    backend = LocalBackend(files, on_denied="raise")
    with pytest.raises(PermissionError, match=rf"^Access denied: '/etc.*' is outside allowed directories \({files}\)$"):
        getattr(backend, method)(*arguments)


def test_a_read_only_place_raises(files: Path) -> None:
    with LinuxSandbox(volumes={files: "/data:ro"}, on_denied="raise") as sandbox:
        with pytest.raises(PermissionError, match="read-only"):
            sandbox.write("/data/a.txt", "x")


def test_other_failures_are_answers(files: Path) -> None:
    backend = LocalBackend(files, permissions=RULES, on_denied="raise")
    assert backend.read("none.txt") == "Error: File 'none.txt' not found"
    assert not backend.exists("/etc/hostname")
    assert backend.ls_info("none") == []


def test_the_answers_of_a_callback_are_denials_and_a_missing_callback_is_not(files: Path) -> None:
    no = LocalBackend(files, permissions="default", ask_callback=lambda *_: False, on_denied="raise")
    with pytest.raises(PermissionError, match="^Permission denied for write"):
        no.write("a.txt", "x")
    with pytest.raises(PermissionAskError):
        LocalBackend(files, permissions="default", on_denied="raise").write("a.txt", "x")
    with pytest.raises(PermissionError, match="approval required"):
        LocalBackend(files, permissions="default", ask_fallback="deny", on_denied="raise").write("a.txt", "x")


def test_the_default_is_an_answer(files: Path) -> None:
    with LinuxSandbox(files, permissions=RULES) as sandbox:
        for backend in (sandbox, LocalBackend(files, permissions=RULES)):
            assert backend.write("a.txt", "x").error == f"Permission denied for write on '{backend._native.realpath('a.txt')}'"


@pytest.mark.parametrize(
    "build",
    [
        lambda choice: LocalBackend(on_denied=choice),
        lambda choice: LinuxSandbox(on_denied=choice),
        lambda choice: create_console_toolset(on_denied=choice),
        lambda choice: ConsoleCapability(on_denied=choice),
        lambda choice: ApprovalToolset(FunctionToolset(), on_denied=choice),
    ],
)
def test_another_choice_is_refused(in_tmp: Path, build: Any) -> None:
    with pytest.raises(ValueError, match='^invalid on_denied \'loud\': use "answer" or "raise"$'):
        build("loud")


# The console


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("read_file", {"path": "secret.txt"}, "Secrets are closed"),
        ("write_file", {"path": "secret.txt", "content": ""}, "secret.txt"),
    ],
)
def test_a_denied_tool_ends_the_run(files: Path, tool: str, arguments: Any, message: str) -> None:
    rules = {**RULES, "write": {"rules": [{"pattern": "**/secret*", "action": "deny"}]}}
    for options in ({"permissions": rules}, {"permissions": rules, "ask_callback": lambda *_: True}):
        raising = create_console_toolset(on_denied="raise", **options)
        with pytest.raises(PermissionError, match=message) as raised:
            Script([(tool, arguments)]).agent(raising).run_sync("go", deps=Deps(LocalBackend(files)))
        assert not str(raised.value).startswith("Error")
        answering = Script([(tool, arguments)]).agent(create_console_toolset(**options))
        result = answering.run_sync("go", deps=Deps(LocalBackend(files)))
        assert message in answers(result.all_messages())[0] and result.output == "done"
    assert (files / "secret.txt").read_text() == "s"


def test_a_mistake_does_not_end_the_run(files: Path) -> None:
    script = Script([("read_file", {"path": "none.txt"})])
    result = script.agent(create_console_toolset(max_retries=0, on_denied="raise")).run_sync("go", deps=Deps(LocalBackend(files)))
    assert result.output == "done"


def test_a_disapproved_command_of_a_capability_ends_the_run(files: Path) -> None:
    console = ConsoleCapability(
        backend=files, require_execute_approval=True, ask_callback=lambda *_: False, on_denied="raise"
    )
    agent = Agent(FunctionModel(Script([("execute", {"command": "touch a.txt"})])), capabilities=[console])
    with pytest.raises(PermissionError, match="not approved"):
        agent.run_sync("go")
    assert not (files / "a.txt").exists()
    spec = AgentSpec.model_validate({"model": "test", "capabilities": [{"ConsoleCapability": {"on_denied": "raise"}}]})
    assert isinstance(Agent.from_spec(spec, custom_capability_types=[ConsoleCapability]), Agent)


# Approvals


def pushing(done: list[str]) -> FunctionToolset[Any]:
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    def push(to: str) -> str:
        done.append(to)
        return "pushed"

    return tools


def test_a_denied_approval_ends_the_run() -> None:
    done: list[str] = []
    for decision, message in [
        (ApprovalDecision(approved=False), "^User denied push: no reason given$"),
        (ApprovalDecision(approved=False, note="not now"), "^User denied push: not now$"),
    ]:
        toolset = ApprovalToolset(pushing(done), lambda _, decision=decision: decision, on_denied="raise")
        with pytest.raises(PermissionError, match=message):
            Script([("push", {"to": "main"})]).agent(toolset).run_sync("go")
    strict = ApprovalController(mode="strict")
    toolset = ApprovalToolset(pushing(done), strict.approval_callback, strict.memory, on_denied="raise")
    with pytest.raises(PermissionError, match="Strict mode: push requires approval"):
        asyncio.run(Script([("push", {"to": "main"})]).agent(toolset).run("go"))
    assert done == []
    toolset = ApprovalToolset(pushing(done), lambda _: ApprovalDecision(approved=True), on_denied="raise")
    assert Script([("push", {"to": "main"})]).agent(toolset).run_sync("go").output == "done" and done == ["main"]


class Blocking(FunctionToolset[Any]):
    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: Any) -> ApprovalResult:
        return ApprovalResult.blocked(f"{name} is blocked")


def test_a_blocked_call_ends_the_run() -> None:
    tools = Blocking()
    tools.add_function(lambda: "pushed", name="push")
    with pytest.raises(PermissionError, match="^push is blocked$") as raised:
        Script([("push", {})]).agent(ApprovalToolset(tools, on_denied="raise")).run_sync("go")
    assert str(pickle.loads(pickle.dumps(raised.value))) == "push is blocked"


def test_a_denied_change_of_a_file_ends_the_run(files: Path) -> None:
    sandbox = Sandbox(SandboxConfig(root=RootSandboxConfig(root=files)))
    no = ApprovalDecision(approved=False, note="keep it")
    toolset = ApprovalToolset(ApprovableFileSystemToolset(sandbox), lambda _: no, on_denied="raise")
    with pytest.raises(PermissionError, match="^User denied write_file: keep it$"):
        Script([("write_file", {"path": "/notes.txt", "content": "b"})]).agent(toolset).run_sync("go")
    assert (files / "notes.txt").read_text() == "a"
