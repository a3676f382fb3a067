"""Data types of rules, by operation, and of the callback that approves one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic import BaseModel, Field

__all__ = [
    "AskCallback",
    "AskFallback",
    "OperationPermissions",
    "PermissionAction",
    "PermissionOperation",
    "PermissionRule",
    "PermissionRuleset",
]

PermissionAction = Literal["allow", "deny", "ask"]
"""Proceed, refuse, or require approval."""

PermissionOperation = Literal["read", "write", "edit", "execute", "glob", "grep", "ls"]
"""The operations that rules cover."""

AskCallback = Callable[[PermissionOperation, str, str], bool | Awaitable[bool]]
"""Receives the operation, its target and a reason; returns whether it is approved."""

AskFallback = Literal["deny", "error"]
"""What to do when approval is required and no callback is set: deny, or raise `PermissionAskError`."""


class PermissionRule(BaseModel):
    """A pattern, and the action for matching targets.

    For files the pattern matches a whole path: `*` and `?` stay within a name, `**` crosses directories, `[a-z]` is one
    character. For `execute` it matches a command word by word, and `*` is any text.

        >>> PermissionRule(pattern="**/*.lock", action="ask", description="Lock files are generated")
        PermissionRule(pattern='**/*.lock', action='ask', description='Lock files are generated')
    """

    pattern: str
    action: PermissionAction
    description: str = ""


class OperationPermissions(BaseModel):
    """The rules of one operation: the first match decides, then the default."""

    default: PermissionAction = "allow"
    rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])


class PermissionRuleset(BaseModel):
    """The rules of all operations. An operation without rules uses `default`.

        >>> ruleset = PermissionRuleset(default="deny", read=OperationPermissions(default="allow"))
        >>> ruleset.get_operation_permissions("write").default
        'deny'
    """

    default: PermissionAction = "ask"
    read: OperationPermissions | None = None
    write: OperationPermissions | None = None
    edit: OperationPermissions | None = None
    execute: OperationPermissions | None = None
    glob: OperationPermissions | None = None
    grep: OperationPermissions | None = None
    ls: OperationPermissions | None = None

    def get_operation_permissions(self, operation: PermissionOperation) -> OperationPermissions:
        """Returns the rules of an operation; without own rules it has the default of the ruleset."""
        own: OperationPermissions | None = getattr(self, operation, None)
        return OperationPermissions(default=self.default) if own is None else own
