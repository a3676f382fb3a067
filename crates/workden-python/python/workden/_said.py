"""What goes wrong, in the words that programs written for pydantic-ai-backend look at."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from typing import Any

from workden._native import Failure


def refusal(failure: Failure) -> tuple[str, dict[str, Any]]:
    """Why a policy said no, as its name and its parts; an empty name when it was no policy."""
    if failure.refusal is None:
        return "", {}
    ((name, parts),) = json.loads(failure.refusal).items()
    return name, parts


def of_file(failure: Failure, given: str) -> str:
    """What is said about a file, without the `Error: ` in front."""
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
    if failure.kind == "out_of_range":
        return failure.sentence.rpartition("`: ")[2]
    return str(failure)


def of_edit(failure: Failure, given: str, old_string: str) -> str:
    """What is said about an edit."""
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
    return of_file(failure, given)


def _denied(parts: dict[str, Any]) -> str:
    if parts.get("description"):
        return f"Permission denied: {parts['description']}"
    return f"Permission denied for {parts['operation']} on '{parts['target']}'"


def of_search(failure: Failure, path: str | None) -> str:
    """What is said about a search."""
    if failure.kind == "invalid_pattern":
        return f"Error: Invalid regex pattern: {failure.sentence}"
    if failure.kind == "not_found":
        return f"Error: Path '{path}' not found"
    return f"Error: {of_file(failure, str(path or '.'))}"


def of_command(failure: Failure) -> str:
    """What is said about a command, without the `Error: ` in front."""
    name, parts = refusal(failure)
    if name in ("rule", "disapproved"):
        return _denied(parts)
    if name == "unapproved":
        return f"Permission denied for {parts['operation']} on '{parts['target']}' (approval required)"
    return str(failure)


@contextlib.contextmanager
def plainly() -> Generator[None, None, None]:
    """Raises what Python programs catch, when something cannot be made."""
    try:
        yield
    except Failure as failure:
        raise as_exception(failure) from None


def as_exception(failure: Failure) -> Exception:
    """The same."""
    return ValueError(str(failure)) if failure.kind.startswith("invalid") else RuntimeError(str(failure))
