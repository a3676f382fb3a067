"""The console as a capability: its tools, hidden tools, rules, and its specification."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from media import PNG
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, RunContext, RunUsage, ToolDefinition, UserError
from pydantic_ai.agent.spec import AgentSpec
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from scripted import Deps, Script, answers

from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.capability import ConsoleCapability
from workden.permissions import READONLY_RULESET, PermissionRuleset

READING = ["ls", "read_file", "glob", "grep"]


async def ran(capability: Any, *calls: Any, deps: Any = None, **options: Any) -> tuple[Script, Any]:
    """Returns the script of a run with this capability, and the result."""
    script = Script(list(calls))
    result = await Agent(FunctionModel(script), capabilities=[capability], **options).run("go", deps=deps)
    return script, result


def test_it_is_a_capability_with_the_order_of_the_reference() -> None:
    capability = ConsoleCapability(False, "hashline", READONLY_RULESET)
    assert isinstance(capability, AbstractCapability)
    assert (capability.include_execute, capability.edit_format, capability.permissions) == (False, "hashline", READONLY_RULESET)
    assert list(inspect.signature(ConsoleCapability).parameters)[:5] == [
        "include_execute",
        "edit_format",
        "permissions",
        "backend",
        "image_support",
    ]
    assert ConsoleCapability.get_serialization_name() == "ConsoleCapability"
    assert capability.get_toolset() is capability.get_toolset()
    assert "_toolset" not in repr(capability)


async def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    capability = ConsoleCapability(
        backend=LocalBackend(root_dir=tmp_path), permissions=READONLY_RULESET, image_support=True
    )
    script, result = await ran(capability, ("read_file", {"path": "a.png"}), ("write_file", {"path": "x", "content": ""}))
    assert list(script.offered) == READING
    image, unknown = answers(result.all_messages())
    assert isinstance(image, BinaryContent) and image.data == PNG
    assert "write_file" in unknown and [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert script.instructions and "`read_file`" in script.instructions
    assert not any(f"`{name}`" in script.instructions for name in ("write_file", "edit_file", "execute"))


async def test_without_rules_everything_is_offered_without_questions(tmp_path: Path) -> None:
    script, result = await ran(ConsoleCapability(backend=tmp_path), ("execute", {"command": "echo hi"}))
    assert len(script.offered) == 11 and answers(result.all_messages()) == ["hi\n"]
    script, result = await ran(
        ConsoleCapability(backend=str(tmp_path), require_execute_approval=True), ("execute", {"command": "echo hi"})
    )
    assert "approv" in answers(result.all_messages())[0]


async def test_it_works_with_the_backend_of_the_dependencies() -> None:
    backend = StateBackend()
    _, result = await ran(ConsoleCapability(), ("write_file", {"path": "a", "content": "x"}), deps=Deps(backend))
    assert answers(result.all_messages()) == ["Wrote 1 lines to /a"] and "/a" in backend.files


NAMES = (
    "ls read_file write_file edit_file hashline_edit glob grep execute run_in_background read_output kill_shell "
    "list_shells custom"
).split()
COMMANDS = ["execute", "run_in_background", "read_output", "kill_shell", "list_shells"]


def writing(default: str, *rules: tuple[str, str], operation: str = "write") -> dict[str, Any]:
    written = [{"pattern": pattern, "action": action} for pattern, action in rules]
    return {"default": "allow", operation: {"default": default, "rules": written}}


@pytest.mark.parametrize(
    ("permissions", "hidden"),
    [
        (None, []),
        ("default", []),
        ("strict", []),
        ("readonly", ["write_file", "edit_file", "hashline_edit", *COMMANDS]),
        ({"default": "deny"}, NAMES[:-1]),
        (writing("deny"), ["write_file"]),
        (writing("allow", ("*", "deny")), ["write_file"]),
        (writing("allow", ("**", "deny"), ("src/**", "allow")), ["write_file"]),
        (writing("allow", ("**/*", "deny")), ["write_file"]),
        (writing("allow", ("**", "deny"), operation="edit"), ["edit_file", "hashline_edit"]),
        (writing("allow", ("*", "deny"), operation="execute"), COMMANDS),
        # Some calls are permitted.
        (writing("deny", ("src/**", "allow")), []),
        (writing("deny", ("src/**", "ask")), []),
        (writing("allow", ("src/**", "allow"), ("**", "deny")), []),
        (writing("allow", ("?", "deny")), []),
        (writing("allow", ("*.md", "deny")), []),
        (writing("deny", ("git *", "allow"), operation="execute"), []),
    ],
)
async def test_it_hides_tools_that_the_rules_deny_everywhere(permissions: Any, hidden: list[str]) -> None:
    capability = ConsoleCapability(permissions=permissions)
    tools = [ToolDefinition(name=name) for name in NAMES]
    offered = await capability.prepare_tools(RunContext(deps=None, model=TestModel(), usage=RunUsage()), tools)
    assert [tool.name for tool in tools if tool not in offered] == hidden
    assert len(tools) == len(NAMES)


async def test_it_hides_tools_of_other_toolsets_by_their_names() -> None:
    def write_file() -> str:
        raise AssertionError

    def custom() -> str:
        return "called"

    script, result = await ran(
        ConsoleCapability(backend=StateBackend(), permissions="readonly"), ("custom", {}), tools=[write_file, custom]
    )
    assert list(script.offered) == ["custom", *READING] and answers(result.all_messages()) == ["called"]


async def test_a_run_without_dependencies_ends_with_the_first_call_of_a_tool() -> None:
    script, result = await ran(ConsoleCapability(permissions="readonly"))
    assert list(script.offered) == READING and result.output == "done"
    with pytest.raises(UserError, match=r"requires `deps\.backend`"):
        await ran(ConsoleCapability(permissions="readonly"), ("ls", {}))


async def test_the_instructions_are_about_the_tools_that_are_there() -> None:
    assert "`execute`" in ConsoleCapability().get_instructions()
    assert "`execute`" not in ConsoleCapability(backend=StateBackend()).get_instructions()


async def test_edits_are_made_as_it_is_told(tmp_path: Path) -> None:
    capability = ConsoleCapability(edit_format="hashline", backend=tmp_path)
    script, _ = await ran(capability)
    assert "hashline_edit" in script.offered and "edit_file" not in script.offered
    assert "hashline_edit" in capability.get_instructions()


async def test_rules_hold_for_each_path_and_can_ask(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def callback(operation: str, target: str, reason: str) -> bool:
        asked.append((operation, target))
        return target.endswith("yes.txt")

    rules = {"default": "allow", "write": {"default": "ask", "rules": [{"pattern": "**/no.txt", "action": "deny"}]}}
    calls = [("write_file", {"path": f"{name}.txt", "content": "x"}) for name in ("yes", "maybe", "no")]
    _, result = await ran(ConsoleCapability(backend=tmp_path, permissions=rules, ask_callback=callback), *calls)
    assert asked == [("write", str(tmp_path / "yes.txt")), ("write", str(tmp_path / "maybe.txt"))]
    assert [path.name for path in tmp_path.iterdir()] == ["yes.txt"]
    assert len(answers(result.all_messages())) == 3
    capability = ConsoleCapability(backend=tmp_path, permissions=rules, ask_fallback="deny")
    _, result = await ran(capability, calls[0], output_type=[str, DeferredToolRequests])
    assert isinstance(result.output, DeferredToolRequests)


async def test_it_can_be_loaded_when_it_is_needed(tmp_path: Path) -> None:
    capability = ConsoleCapability(backend=tmp_path, id="console", description="Files.", defer_loading=True)
    script, result = await ran(capability, ("load_capability", {"id": "console"}), ("ls", {}))
    assert "ls" in script.offered and "is empty" in answers(result.all_messages())[-1]


@pytest.mark.parametrize("permissions", ["readonly", "READONLY_RULESET", READONLY_RULESET.model_dump()])
async def test_a_specification_names_it(tmp_path: Path, permissions: Any) -> None:
    spec = {"capabilities": [{"ConsoleCapability": {"permissions": permissions, "backend": str(tmp_path)}}]}
    script = Script([("ls", {})])
    agent = Agent.from_spec(spec, custom_capability_types=[ConsoleCapability], model=FunctionModel(script))
    result = await agent.run("go")
    assert list(script.offered) == READING and "is empty" in answers(result.all_messages())[0]


async def test_a_specification_in_yaml(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        f"capabilities:\n  - ConsoleCapability:\n      backend: {tmp_path}\n      edit_format: hashline\n"
        "      include_execute: false\n      extra_tools: [move_file]\n      id: console\n"
    )
    script = Script([])
    agent = Agent.from_file(file, custom_capability_types=[ConsoleCapability], model=FunctionModel(script))
    await agent.run("go")
    assert list(script.offered) == ["ls", "read_file", "write_file", "hashline_edit", "glob", "grep", "move_file"]
    short = AgentSpec.model_validate({"model": "test", "capabilities": ["ConsoleCapability"]})
    assert isinstance(Agent.from_spec(short, custom_capability_types=[ConsoleCapability]), Agent)


def test_a_specification_is_checked() -> None:
    schema = AgentSpec.model_json_schema_with_capabilities([ConsoleCapability])
    assert "document_support" in str(schema)
    for wrong in ({"permissions": "nonsense"}, {"permissions": {"default": "nonsense"}}, {"nonsense": 1}):
        with pytest.raises(ValueError, match="ConsoleCapability"):
            Agent.from_spec(
                {"model": "test", "capabilities": [{"ConsoleCapability": wrong}]}, custom_capability_types=[ConsoleCapability]
            )
    assert ConsoleCapability(permissions={"default": "deny"}).permissions == PermissionRuleset(default="deny")
