"""Error messages with the wording of pydantic-ai-backend, which callers match on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from typing import Any

from workden._native import Failure


def refusal(failure: Failure) -> tuple[str, dict[str, Any]]:
    """Returns the name and the fields of a policy refusal; an empty name if no policy refused the call."""
    if failure.refusal is None:
        return "", {}
    ((name, parts),) = json.loads(failure.refusal).items()
    return name, parts


def file_error(failure: Failure, given: str) -> str:
    """Returns the message for a file, without the prefix `Error: `."""
    name, parts = refusal(failure)
    if name == "outside":
        return f"Access denied: '{given}' is outside allowed directories ({', '.join(parts['readable'])})"
    if name in ("rule", "disapproved"):
        return _denied(parts)
    if name == "unapproved":
        return f"Permission denied for {parts['operation']} on '{parts['target']}' (approval required)"
    if failure.kind == "not_found":
        return f"File '{given}' not found"
    if failure.kind == "is_directory":
        return f"'{given}' is a directory"
    return str(failure)


def edit_error(failure: Failure, given: str, old_string: str) -> str:
    """Returns the message for an edit, without the prefix `Error: `."""
    _, parts = refusal(failure)
    if failure.kind == "no_match":
        return f"String '{old_string}' not found in file"
    if failure.kind == "ambiguous":
        times = parts.get("matches", "several")
        return (
            f"String '{old_string}' found {times} times. "
            "Use replace_all=True to replace all, or provide more context."
        )
    if failure.kind == "is_directory":
        return f"File '{given}' not found"
    return file_error(failure, given)


def _denied(parts: dict[str, Any]) -> str:
    if parts.get("description"):
        return f"Permission denied: {parts['description']}"
    return f"Permission denied for {parts['operation']} on '{parts['target']}'"


def search_error(failure: Failure, path: str | None) -> str:
    """Returns the message for a search."""
    if failure.kind == "invalid_pattern":
        return f"Error: Invalid regex pattern: {failure.sentence}"
    if failure.kind == "not_found":
        return f"Error: Path '{path}' not found"
    return f"Error: {file_error(failure, str(path or '.'))}"


def command_error(failure: Failure) -> str:
    """Returns the message for a command, without the prefix `Error: `."""
    name, parts = refusal(failure)
    if name in ("rule", "disapproved"):
        return _denied(parts)
    if name == "unapproved":
        return f"Permission denied for {parts['operation']} on '{parts['target']}' (approval required)"
    return str(failure)


@contextlib.contextmanager
def builtin_exceptions() -> Generator[None, None, None]:
    """Converts a `Failure` into the builtin exception that Python programs catch."""
    try:
        yield
    except Failure as failure:
        raise as_exception(failure) from None


def as_exception(failure: Failure) -> Exception:
    """Returns the builtin exception for a failure."""
    return ValueError(str(failure)) if failure.kind.startswith("invalid") else RuntimeError(str(failure))
