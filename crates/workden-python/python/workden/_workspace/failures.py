"""What goes wrong, as Pydantic AI wants workspaces to say it: the builtin errors for paths, its own for the rest."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from pydantic_ai.workspaces import WorkspaceUnavailableError

if TYPE_CHECKING:
    from workden._native import Failure

# Python makes of each number the exception that it has for it: `FileNotFoundError` of ENOENT, and so on.
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
_MISTAKES = ("invalid_path", "invalid_argument", "invalid_pattern", "out_of_range")


def of_call(failure: Failure, path: str | None = None) -> Exception:
    """The exception for a call that failed. What may go well another time is what it was."""
    if failure.kind == "gone":
        return WorkspaceUnavailableError(str(failure))
    if failure.kind in _MISTAKES:
        return ValueError(str(failure))
    number = _NUMBERS.get(failure.kind)
    return failure if number is None else OSError(number, str(failure), path)


def of_attach(failure: Failure) -> Exception:
    """The exception for an environment that was not reached by its ref."""
    if failure.kind in ("gone", "not_found"):
        return WorkspaceUnavailableError(str(failure))
    return failure
