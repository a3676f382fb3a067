"""Converts failures of the native module into the exceptions that programs catch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workden import _messages
from workden.filesystem._mounts import normalize
from workden.filesystem.errors import (
    EditError,
    FileTooLargeError,
    PathNotInSandboxError,
    PathNotWritableError,
    SandboxError,
    SuffixNotAllowedError,
)

if TYPE_CHECKING:
    from workden._native import Failure
    from workden.filesystem.sandbox import Sandbox

_INVALID_PATH = ("escapes", "link_loop", "invalid_path")
_INVALID_ARGUMENT = ("invalid_argument", "invalid_pattern", "out_of_range")


def exception(failure: Failure, sandbox: Sandbox, doing: str, *given: str, old_text: str = "") -> Exception:
    """Returns the exception for a failed operation `doing` (`read`, `move`, ...) on the given paths."""
    path = _path_at_fault(failure, given)
    return (
        _path_exception(failure, sandbox, doing, path)
        or _refusal_exception(failure, sandbox, path)
        or _edit_exception(failure, doing, path, old_text)
        or _file_exception(failure, doing, path, given)
        or _other_exception(failure, sandbox, doing, path)
    )


def _path_at_fault(failure: Failure, given: tuple[str, ...]) -> str:
    """Returns the given path that a failure is about, as it was typed."""
    about = _messages.refusal(failure)[1].get("path")
    for path in given:
        normal = normalize(path)
        if normal is None or normal == about or (about is None and f"`{normal}`" in failure.sentence):
            return path
    return given[0]


def _path_exception(failure: Failure, sandbox: Sandbox, doing: str, path: str) -> Exception | None:
    """Returns a more specific exception: a link out of the sandbox is not a missing file, and a directory is not a bad
    name."""
    if failure.kind == "not_found" and sandbox._resolve_or_none(path) is None:
        return PathNotInSandboxError(path, sandbox.readable_roots)
    name, parts = _messages.refusal(failure)
    if name == "suffix" and not parts["suffix"] and sandbox._is_directory(path):
        return IsADirectoryError(f"Cannot copy directory: {path}" if doing == "copy" else f"Not a file: {path}")
    return None


def _refusal_exception(failure: Failure, sandbox: Sandbox, path: str) -> Exception | None:
    name, parts = _messages.refusal(failure)
    if name == "outside":
        return PathNotInSandboxError(path, sandbox.readable_roots)
    if name == "read_only":
        return PathNotWritableError(path, sandbox.writable_roots)
    if name == "suffix":
        return SuffixNotAllowedError(path, parts["suffix"], parts["allowed"])
    if name == "too_large":
        return FileTooLargeError(path, parts["size"], parts["limit"])
    return None


def _edit_exception(failure: Failure, doing: str, path: str, old_text: str) -> Exception | None:
    if failure.kind == "invalid_argument" and doing == "edit" and not old_text:
        return EditError(path, "the text to replace is empty", old_text)
    if failure.kind == "no_match":
        return EditError(path, "text not found in file", old_text)
    if failure.kind == "ambiguous":
        times = _messages.refusal(failure)[1].get("matches", "several")
        return EditError(path, f"text found {times} times (must be unique)", old_text)
    return None


def _file_exception(failure: Failure, doing: str, path: str, given: tuple[str, ...]) -> Exception | None:
    has_source = doing in ("move", "copy")
    if failure.kind == "not_found" or (failure.kind == "not_directory" and doing in ("read", "edit", "delete")):
        return FileNotFoundError(f"{'Source file' if has_source else 'File'} not found: {path}")
    if failure.kind == "is_directory":
        return IsADirectoryError(f"Cannot {doing} directory: {path}" if has_source else f"Not a file: {path}")
    if failure.kind == "not_regular":
        return IsADirectoryError(f"Not a file: {path}")
    if failure.kind == "already_exists":
        return FileExistsError(f"Destination already exists: {given[-1]}")
    if failure.kind == "not_directory":
        return NotADirectoryError(f"Not a directory: {path.rpartition('/')[0]}")
    return None


def _other_exception(failure: Failure, sandbox: Sandbox, doing: str, path: str) -> Exception:
    if failure.kind in _INVALID_PATH:
        return PathNotInSandboxError(path, sandbox.readable_roots)
    if failure.kind == "not_text":
        what = "edit" if doing == "edit" else "read"
        return SandboxError(
            f"Cannot {what} '{path}': file appears to be binary or not UTF-8 encoded.\n"
            f"This tool only {what}s text files. For binary files, pass them as attachments."
        )
    if failure.kind in _INVALID_ARGUMENT:
        return ValueError(str(failure))
    if failure.kind == "permission_denied":
        return PermissionError(str(failure))
    return SandboxError(str(failure))
