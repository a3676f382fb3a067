"""Failure messages of tools with the wording of pydantic-ai-backend, which callers match on.

The first line is the reference message; details of the native tools follow.
"""

from __future__ import annotations

import re
from typing import Any

from workden.toolsets._media import IMAGE_EXTENSIONS, extension_of

_ERROR_PREFIX = re.compile(r"Error: cannot \w+ `[^`]*`: (?=Offset |Line |End line |Hash |end_line)")
_TIMES = re.compile(r"found (\d+) times")

RETRYABLE = frozenset(
    (
        "not_found already_exists is_directory not_directory not_empty not_regular link_loop invalid_path "
        "invalid_pattern invalid_argument not_text too_large out_of_range no_match ambiguous conflict moved"
    ).split()
)
"""Kinds of failures that a different call can avoid. Others are returned to the model without a retry."""


def success_text(tool: str, arguments: dict[str, Any], text: str, shown: frozenset[str]) -> str:
    """Returns the answer to the model for a call that succeeded."""
    path = str(arguments.get("path") or ".")
    if tool == "ls" and text == f"Directory '{path}' is empty":
        return f"Directory '{path}' is empty or does not exist"
    if tool == "read_file" and text == "(the file is empty)" and extension_of(path) in shown:
        return _missing(path, shown)
    return text


def failure_text(tool: str, arguments: dict[str, Any], kind: str, text: str, shown: frozenset[str]) -> str:
    """Returns the answer to the model for a call that failed. `shown` has the suffixes of files that are passed on
    unchanged."""
    path = str(arguments.get("path") or ".")
    if kind == "not_found" and tool == "read_file":
        return _with_hint(_missing(path, shown), text)
    if kind == "not_found" and tool in ("edit_file", "hashline_edit"):
        return _with_hint(f"Error: File '{path}' not found", text)
    if kind == "not_found" and tool == "ls":
        return _with_hint(f"Directory '{path}' is empty or does not exist", text)
    if kind == "not_found" and tool == "grep":
        return _with_hint(f"Error: Path '{path}' not found", text)
    if kind == "is_directory" and tool == "read_file":
        return _with_hint(f"Error: '{path}' is a directory", text)
    if kind == "invalid_pattern" and tool == "grep":
        return f"Error: Invalid regex pattern: {_without_prefix(text).removeprefix('invalid regular expression: ')}"
    if kind == "no_match" and tool == "edit_file":
        return f"Error: String '{arguments['old_string']}' not found in file\n{_without_prefix(text)}"
    if kind == "ambiguous" and tool == "edit_file":
        times = _TIMES.search(text)
        return (
            f"Error: String '{arguments['old_string']}' found {times[1] if times else 'several'} times. "
            f"Use replace_all=True to replace all, or provide more context.\n{_without_prefix(text)}"
        )
    return _ERROR_PREFIX.sub("Error: ", text, count=1)


def unavailable_text(tool: str, backend: Any) -> str:
    """Returns the message for a tool that the backend does not support."""
    if tool in ("run_in_background", "read_output", "kill_shell", "list_shells"):
        return "Error: Backend does not support background processes"
    if tool != "execute":
        return f"Error: {tool} is not allowed here"
    if getattr(backend, "execute_enabled", True) is False:
        return "Error: Shell execution is disabled for this backend"
    if hasattr(backend, "execute"):
        return "Error: execute is not allowed here"
    return "Error: Backend does not support command execution"


def _missing(path: str, shown: frozenset[str]) -> str:
    extension = extension_of(path)
    if extension not in shown:
        return f"Error: File '{path}' not found"
    return f"Error: {'Image' if extension in IMAGE_EXTENSIONS else 'Document'} file '{path}' not found or empty"


def _with_hint(sentence: str, text: str) -> str:
    _, hint, rest = text.partition("\nhint: ")
    return f"{sentence}{hint}{rest}"


def _without_prefix(text: str) -> str:
    return text.removeprefix("Error: ")
