"""The console as a toolset: which tools it offers."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import FunctionToolset, UserError
from scripted import Deps, PlainBackend, PlainSandbox, Script

from workden import toolsets
from workden.adapter import ensure_async
from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.permissions import DEFAULT_RULESET, READONLY_RULESET, PermissionRuleset
from workden.toolsets import console
from workden.toolsets.console import ConsoleDeps, create_console_toolset, get_console_system_prompt

FILES = ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]
COMMANDS = ["execute", "run_in_background", "read_output", "kill_shell", "list_shells"]


def test_it_is_a_toolset_with_the_tools_by_name() -> None:
    toolset = create_console_toolset(id="console", max_retries=3)
    assert isinstance(toolset, FunctionToolset) and toolset.id == "console"
    assert list(toolset.tools) == [*FILES, *COMMANDS]
    assert toolset.tools["grep"].max_retries == 3
    assert toolset.tools["read_file"].function_schema.json_schema["required"] == ["path"]
    assert list(create_console_toolset(include_execute=False).tools) == FILES
    assert list(create_console_toolset(include_background=False).tools) == [*FILES, "execute"]
    hashline = create_console_toolset(edit_format="hashline")
    assert "hashline_edit" in hashline.tools and "edit_file" not in hashline.tools
    assert "move_file" in create_console_toolset(extra_tools=["move_file"]).tools
    assert toolsets.ConsoleToolset is create_console_toolset


def test_its_signature_is_that_of_the_reference() -> None:
    parameters = inspect.signature(create_console_toolset).parameters.values()
    assert [(p.name, p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY] == [
        ("id", None),
        ("include_execute", True),
        ("include_background", True),
        ("require_write_approval", False),
        ("require_execute_approval", True),
        ("default_ignore_hidden", True),
        ("permissions", None),
        ("max_retries", 1),
        ("image_support", False),
        ("max_image_bytes", 52428800),
        ("document_support", False),
        ("max_document_bytes", 52428800),
        ("edit_format", "str_replace"),
        ("descriptions", None),
    ]
    assert "require_execute_approval: 'bool' = True" in str(inspect.signature(create_console_toolset))


def test_tools_that_ask_are_marked() -> None:
    def marked(**options: Any) -> list[str]:
        return [name for name, tool in create_console_toolset(**options).tools.items() if tool.requires_approval]

    commands = ["execute", "run_in_background"]
    assert marked() == commands
    assert marked(require_execute_approval=False) == []
    assert marked(require_write_approval=True) == ["write_file", "edit_file", *commands]
    assert marked(permissions=DEFAULT_RULESET) == ["write_file", "edit_file", *commands]
    assert marked(permissions=PermissionRuleset(default="allow"), require_write_approval=True) == []
    assert marked(permissions=PermissionRuleset(default="ask"), edit_format="hashline") == [
        "write_file",
        "hashline_edit",
        *commands,
    ]


async def test_only_what_the_backend_can_do_is_offered(local: LocalBackend, tmp_path: Path) -> None:
    toolset = create_console_toolset()
    for backend, expected in [
        (local, [*FILES, *COMMANDS]),
        (LocalBackend(root_dir=tmp_path, enable_execute=False), FILES),
        (StateBackend(), FILES),
        (PlainBackend(), FILES),
        (PlainSandbox(), [*FILES, *COMMANDS]),
        (ensure_async(StateBackend()), FILES),
        (LocalBackend(root_dir=tmp_path, permissions=READONLY_RULESET), ["ls", "read_file", "glob", "grep"]),
    ]:
        script = Script([])
        await script.agent(toolset).run("go", deps=Deps(backend))
        assert list(script.offered) == expected
        assert ("edit_file" in script.offered.get("write_file", "edit_file")) is True


async def test_rules_hide_what_they_deny_everywhere(local: LocalBackend) -> None:
    toolset = create_console_toolset(permissions=READONLY_RULESET)
    assert list(toolset.tools) == ["ls", "read_file", "glob", "grep"]
    script = Script([])
    await script.agent(toolset).run("go", deps=Deps(local))
    assert list(script.offered) == ["ls", "read_file", "glob", "grep"]
    assert list(create_console_toolset(permissions="readonly").tools) == list(toolset.tools)
    denied = create_console_toolset(permissions={"default": "allow", "edit": {"default": "deny"}})
    assert [name for name in FILES if name not in denied.tools] == ["edit_file"]
    with pytest.raises(ValueError, match="unknown permission preset 'nonsense'; use one of: default, permissive"):
        create_console_toolset(permissions="nonsense")


async def test_descriptions_can_be_replaced() -> None:
    script = Script([])
    await script.agent(create_console_toolset(descriptions={"ls": "Look."})).run("go", deps=Deps(StateBackend()))
    assert script.offered["ls"] == "Look."
    with pytest.raises(ValueError, match="tool `nonsense` not found"):
        create_console_toolset(descriptions={"nonsense": "x"})
    with pytest.raises(ValueError, match="nonsense"):
        create_console_toolset(extra_tools=["nonsense"])


def test_texts_are_there_as_constants() -> None:
    assert "number:hash|text" in console.HASHLINE_READ_FILE_DESCRIPTION
    assert "number:hash" not in console.READ_FILE_DESCRIPTION
    for name in console.__all__:
        assert getattr(console, name) is not None
    for name in toolsets.__all__:
        assert getattr(toolsets, name) == getattr(console, name)
    assert "hashline_edit" in console.HASHLINE_CONSOLE_PROMPT
    assert get_console_system_prompt() == console.CONSOLE_SYSTEM_PROMPT
    assert get_console_system_prompt("hashline") == console.HASHLINE_CONSOLE_PROMPT
    for module in (console, toolsets):
        with pytest.raises(AttributeError, match="has no attribute 'NONSENSE'"):
            module.NONSENSE  # noqa: B018
    assert isinstance(Deps(1), ConsoleDeps) and not isinstance(1, ConsoleDeps)
    assert console.IMAGE_EXTENSIONS == {"png", "jpg", "jpeg", "gif", "webp"}
    assert console.IMAGE_MEDIA_TYPES["jpg"] == "image/jpeg" and console.DOCUMENT_MEDIA_TYPES == {"pdf": "application/pdf"}
    assert (console.DEFAULT_MAX_IMAGE_DIMENSION, console.DEFAULT_MAX_DOCUMENT_BYTES) == (1568, 50 * 1024 * 1024)


@pytest.mark.parametrize("missing", ["pydantic_ai", "pydantic_core"])
def test_without_pydantic_ai_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for module in ("workden.toolsets._toolset", "workden.toolsets._approvals", "workden.capability", "pydantic_ai.capabilities"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    said = r"^Pydantic AI is not installed: pip install 'workden\[console\]'$"
    with pytest.raises(ImportError, match=said if missing == "pydantic_ai" else "pydantic_core"):
        create_console_toolset()
    if missing == "pydantic_ai":
        with pytest.raises(ImportError, match=said):
            importlib.import_module("workden.capability")


async def test_without_a_backend_the_first_call_says_where_one_is_looked_for() -> None:
    for deps in (None, SimpleNamespace(), SimpleNamespace(backend=None)):
        script = Script([])
        assert (await script.agent(create_console_toolset()).run("go", deps=deps)).output == "done"
        assert len(script.offered) == 11
        with pytest.raises(UserError, match=r"requires `deps\.backend`"):
            await Script([("ls", {})]).agent(create_console_toolset()).run("go", deps=deps)
