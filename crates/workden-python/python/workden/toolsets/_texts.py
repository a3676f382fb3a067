"""Descriptions and prompts of the console tools, from the native module. Created on first use."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Literal

from workden._native import NativeWorkspace

if TYPE_CHECKING:
    from workden._native import Tools

EditFormat = Literal["str_replace", "hashline"]
"""How files are edited: by text, or by line number and hash."""

DESCRIPTIONS: dict[str, tuple[EditFormat, str]] = {
    "LS_DESCRIPTION": ("str_replace", "ls"),
    "READ_FILE_DESCRIPTION": ("str_replace", "read_file"),
    "HASHLINE_READ_FILE_DESCRIPTION": ("hashline", "read_file"),
    "WRITE_FILE_DESCRIPTION": ("str_replace", "write_file"),
    "EDIT_FILE_DESCRIPTION": ("str_replace", "edit_file"),
    "HASHLINE_EDIT_DESCRIPTION": ("hashline", "hashline_edit"),
    "GLOB_DESCRIPTION": ("str_replace", "glob"),
    "GREP_DESCRIPTION": ("str_replace", "grep"),
    "EXECUTE_DESCRIPTION": ("str_replace", "execute"),
    "RUN_IN_BACKGROUND_DESCRIPTION": ("str_replace", "run_in_background"),
    "READ_OUTPUT_DESCRIPTION": ("str_replace", "read_output"),
    "KILL_SHELL_DESCRIPTION": ("str_replace", "kill_shell"),
    "LIST_SHELLS_DESCRIPTION": ("str_replace", "list_shells"),
}
"""Maps constants to the tools they describe."""

PROMPTS: dict[str, EditFormat] = {"CONSOLE_SYSTEM_PROMPT": "str_replace", "HASHLINE_CONSOLE_PROMPT": "hashline"}


class _AnyBackend:
    """Stands for a backend that supports everything. It is never called."""

    def execute(self) -> None: ...


def unrestricted_workspace() -> NativeWorkspace:
    """Returns a workspace that supports everything."""
    return NativeWorkspace.foreign(_AnyBackend())


def tools_over(workspace: NativeWorkspace, options: dict[str, Any], rules: str | None = None) -> Tools:
    """Returns the tools over a workspace, without those that the rules deny everywhere."""
    if rules is not None:
        workspace = workspace.guarded(rules)
    return workspace.tools(json.dumps(options))


def specs(tools: Tools) -> dict[str, dict[str, Any]]:
    """Returns the specification of each tool by name."""
    return {spec["name"]: spec for spec in json.loads(tools.specs())}


@functools.cache
def _console(edit_format: EditFormat) -> tuple[dict[str, dict[str, Any]], str]:
    tools = tools_over(unrestricted_workspace(), {"edit_format": edit_format, "images": False, "documents": False})
    return specs(tools), tools.prompt()


def prompt(edit_format: EditFormat) -> str:
    """Returns the system prompt for all tools."""
    return _console(edit_format)[1]


def constant(name: str) -> str | None:
    """Returns the text of a constant, or `None` if there is no such constant."""
    if name in DESCRIPTIONS:
        edit_format, tool = DESCRIPTIONS[name]
        return _console(edit_format)[0][tool]["description"]
    return prompt(PROMPTS[name]) if name in PROMPTS else None
