"""Rules as they are written down: what may be done, operation by operation."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

__all__ = [
    "OperationPermissions",
    "PermissionAction",
    "PermissionOperation",
    "PermissionRule",
    "PermissionRuleset",
]

PermissionAction = Literal["allow", "deny", "ask"]
"""Go ahead, no, or somebody has to approve."""

PermissionOperation = Literal["read", "write", "edit", "execute", "glob", "grep", "ls"]
"""What can be done."""


class PermissionRule(BaseModel):
    """A pattern, and what holds for what it matches.

    For files the pattern is over a whole path: `*` and `?` stay within a name, `**` crosses directories,
    `[a-z]` is one character. For `execute` it is over a command, word by word, and `*` is any text.

        >>> PermissionRule(pattern="**/*.lock", action="ask", description="Lock files are generated")
        PermissionRule(pattern='**/*.lock', action='ask', description='Lock files are generated')
    """

    pattern: str
    action: PermissionAction
    description: str = ""


class OperationPermissions(BaseModel):
    """The rules of one operation: the first that matches decides, then the default."""

    default: PermissionAction = "allow"
    rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])


class PermissionRuleset(BaseModel):
    """What may be done. An operation of which nothing is said goes by `default`.

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
        """The rules of an operation; where it has none, its default is that of the ruleset."""
        own: OperationPermissions | None = getattr(self, operation, None)
        return OperationPermissions(default=self.default) if own is None else own
