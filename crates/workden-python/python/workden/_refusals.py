"""Raises the exceptions for calls that are refused, where the caller wants exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workden import _messages

if TYPE_CHECKING:
    from workden._native import Failure
    from workden.permissions import AskFallback

OnDenied = Literal["answer", "raise"]
"""A denied call returns its usual error, or raises `PermissionError`."""

_DENIALS = frozenset({"denied", "approval_needed", "escapes", "read_only", "permission_denied"})


def checked(on_denied: OnDenied) -> OnDenied:
    """Returns a valid choice."""
    if on_denied not in ("answer", "raise"):
        raise ValueError(f'invalid on_denied {on_denied!r}: use "answer" or "raise"')
    return on_denied


def is_denial(failure: Failure) -> bool:
    """Whether a call failed because it is not permitted."""
    return failure.kind in _DENIALS


def raise_refusal(failure: Failure, ask_fallback: AskFallback, on_denied: OnDenied) -> None:
    """Raises the exception of a backend for a refusal, if it wants one."""
    name, parts = _messages.refusal(failure)
    if name == "unapproved" and ask_fallback == "error":
        from workden.permissions import PermissionAskError

        raise PermissionAskError(parts["operation"], parts["target"], "Approval required but no callback") from None
    if on_denied == "raise" and is_denial(failure):
        raise PermissionError(_messages.file_error(failure, parts.get("path", ""))) from None
