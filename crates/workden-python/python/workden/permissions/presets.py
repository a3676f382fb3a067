"""The preset rulesets, and a function that creates others.

These lists can be inspected, copied and extended. When enforced as a whole, the lists of secrets, system directories
and dangerous commands cover more than their patterns: see `docs/compatibility.md`.
"""

from __future__ import annotations

from workden import _native
from workden.permissions.types import (
    OperationPermissions,
    PermissionAction,
    PermissionRule,
    PermissionRuleset,
)

__all__ = [
    "DANGEROUS_COMMANDS",
    "DEFAULT_RULESET",
    "PERMISSIVE_RULESET",
    "READONLY_RULESET",
    "SECRETS_PATTERNS",
    "STRICT_RULESET",
    "SYSTEM_PATTERNS",
    "create_ruleset",
]

SECRETS_PATTERNS = list(_native.SECRETS_PATTERNS)
"""Paths of secrets. A ruleset that denies the whole list denies every secret that workden knows."""

SYSTEM_PATTERNS = list(_native.SYSTEM_PATTERNS)
"""Paths of the operating system."""

DANGEROUS_COMMANDS = list(_native.DANGEROUS_COMMANDS)
"""Destructive commands. Denying any of them denies every command that workden classifies as dangerous."""

_SECRETS = "Protect sensitive files"
_SYSTEM = "Protect sensitive and system files"
_DANGEROUS = "Block dangerous commands"


def _but(default: PermissionAction, denied: list[str], description: str) -> OperationPermissions:
    rules = [PermissionRule(pattern=each, action="deny", description=description) for each in denied]
    return OperationPermissions(default=default, rules=rules)


def _but_secrets(default: PermissionAction) -> OperationPermissions:
    return _but(default, SECRETS_PATTERNS, _SECRETS)


def _but_dangerous(default: PermissionAction) -> OperationPermissions:
    return _but(default, DANGEROUS_COMMANDS, _DANGEROUS)


def _always(action: PermissionAction) -> OperationPermissions:
    return OperationPermissions(default=action)


def _preset(
    default: PermissionAction,
    *,
    read: PermissionAction,
    change: OperationPermissions,
    execute: OperationPermissions,
    search: PermissionAction,
) -> PermissionRuleset:
    return PermissionRuleset(
        default=default,
        read=_but_secrets(read),
        write=change,
        # A copy, so that a rule added to `write` does not change `edit`.
        edit=change.model_copy(deep=True),
        execute=execute,
        glob=_always(search),
        grep=_always(search),
        ls=_always(search),
    )


DEFAULT_RULESET = _preset(
    "ask", read="allow", change=_but_secrets("ask"), execute=_but_dangerous("ask"), search="allow"
)
"""Allows reading and searching; asks before changes and commands."""

PERMISSIVE_RULESET = _preset(
    "allow",
    read="allow",
    change=_but("allow", SECRETS_PATTERNS + SYSTEM_PATTERNS, _SYSTEM),
    execute=_but_dangerous("allow"),
    search="allow",
)
"""Allows everything except access to secrets and changes to the system."""

READONLY_RULESET = _preset("deny", read="allow", change=_always("deny"), execute=_always("deny"), search="allow")
"""Allows reading and searching only."""

STRICT_RULESET = _preset("ask", read="ask", change=_but_secrets("ask"), execute=_but_dangerous("ask"), search="ask")
"""Asks before every operation."""


def create_ruleset(
    *,
    default: PermissionAction = "ask",
    allow_read: bool = True,
    allow_write: bool = False,
    allow_edit: bool = False,
    allow_execute: bool = False,
    allow_glob: bool = True,
    allow_grep: bool = True,
    allow_ls: bool = True,
    deny_secrets: bool = True,
) -> PermissionRuleset:
    """Creates a ruleset from the operations that are allowed without approval. All others ask.

        >>> create_ruleset(allow_write=True).write.default
        'allow'

    Args:
        default: Action for operations that no other setting covers.
        allow_read: Whether reading is allowed.
        allow_write: Whether writing whole files is allowed.
        allow_edit: Whether changing parts of files is allowed.
        allow_execute: Whether running commands is allowed. Dangerous commands are not treated specially.
        allow_glob: Whether finding paths is allowed.
        allow_grep: Whether finding lines is allowed.
        allow_ls: Whether listing is allowed.
        deny_secrets: Whether reading, writing and editing secrets is denied.
    """

    def action(is_allowed: bool) -> PermissionAction:
        return "allow" if is_allowed else "ask"

    files = _but_secrets if deny_secrets else _always
    return PermissionRuleset(
        default=default,
        read=files(action(allow_read)),
        write=files(action(allow_write)),
        edit=files(action(allow_edit)),
        execute=_always(action(allow_execute)),
        glob=_always(action(allow_glob)),
        grep=_always(action(allow_grep)),
        ls=_always(action(allow_ls)),
    )
