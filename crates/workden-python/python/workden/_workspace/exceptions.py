"""Exceptions that Pydantic AI expects of workspaces: the builtin ones for paths, its own for the rest."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from pydantic_ai.workspaces import WorkspaceUnavailableError

if TYPE_CHECKING:
    from workden._native import Failure

# `OSError` picks the subclass for each number: `FileNotFoundError` for ENOENT, and so on.
_NUMBERS = {
    "not_found": errno.ENOENT,
    "already_exists": errno.EEXIST,
    "is_directory": errno.EISDIR,
    "not_directory": errno.ENOTDIR,
    "not_empty": errno.ENOTEMPTY,
    "not_regular": errno.EINVAL,
    "link_loop": errno.ELOOP,
    "escapes": errno.EACCES,
    "read_only": errno.EACCES,
    "permission_denied": errno.EACCES,
    "denied": errno.EACCES,
    "approval_needed": errno.EACCES,
    "too_large": errno.EFBIG,
    "no_space": errno.ENOSPC,
    "conflict": errno.ESTALE,
    "moved": errno.ESTALE,
    "timed_out": errno.ETIMEDOUT,
    "io": errno.EIO,
}
_INVALID = ("invalid_path", "invalid_argument", "invalid_pattern", "out_of_range")


def call_exception(failure: Failure, path: str | None = None) -> Exception:
    """Returns the exception for a failed call. Failures that may be temporary stay `Failure`."""
    if failure.kind == "gone":
        return WorkspaceUnavailableError(str(failure))
    if failure.kind in _INVALID:
        return ValueError(str(failure))
    number = _NUMBERS.get(failure.kind)
    return failure if number is None else OSError(number, str(failure), path)


def attach_exception(failure: Failure) -> Exception:
    """Returns the exception for a failed attach."""
    if failure.kind in ("gone", "not_found"):
        return WorkspaceUnavailableError(str(failure))
    return failure
