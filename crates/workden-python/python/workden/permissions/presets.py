"""The rulesets that come with workden, and a function that makes others.

What is written here is what can be looked at, copied and added to. Enforced, the complete lists of secrets,
of the system's directories and of dangerous commands protect more than their patterns say: see
`docs/compatibility.md`.
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
"""Where secrets are kept. Denied as a whole, it stands for all that workden knows of secrets."""

SYSTEM_PATTERNS = list(_native.SYSTEM_PATTERNS)
"""What belongs to the system."""

DANGEROUS_COMMANDS = list(_native.DANGEROUS_COMMANDS)
"""Commands that nobody means. Each of them, denied, stands for all that workden knows to be dangerous."""

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
        # Whoever adds a rule to the one does not mean the other.
        edit=change.model_copy(deep=True),
        execute=execute,
        glob=_always(search),
        grep=_always(search),
        ls=_always(search),
    )


DEFAULT_RULESET = _preset(
    "ask", read="allow", change=_but_secrets("ask"), execute=_but_dangerous("ask"), search="allow"
)
"""Reads and searches; asks before it changes anything or runs a command."""

PERMISSIVE_RULESET = _preset(
    "allow",
    read="allow",
    change=_but("allow", SECRETS_PATTERNS + SYSTEM_PATTERNS, _SYSTEM),
    execute=_but_dangerous("allow"),
    search="allow",
)
"""Does everything but touch secrets and the system."""

READONLY_RULESET = _preset("deny", read="allow", change=_always("deny"), execute=_always("deny"), search="allow")
"""Reads and searches, and changes nothing."""

STRICT_RULESET = _preset("ask", read="ask", change=_but_secrets("ask"), execute=_but_dangerous("ask"), search="ask")
"""Asks before everything."""


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
    """A ruleset by what is allowed without asking. The rest asks.

        >>> create_ruleset(allow_write=True).write.default
        'allow'

    Args:
        default: What holds where nothing else does.
        allow_read: Whether reading is allowed.
        allow_write: Whether writing whole files is allowed.
        allow_edit: Whether changing parts of files is allowed.
        allow_execute: Whether running commands is allowed. None is singled out as dangerous.
        allow_glob: Whether finding paths is allowed.
        allow_grep: Whether finding lines is allowed.
        allow_ls: Whether listing is allowed.
        deny_secrets: Whether secrets are denied to read, write and edit.
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
