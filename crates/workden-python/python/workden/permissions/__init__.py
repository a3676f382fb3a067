"""Permissions: rules for files and commands, presets, and a checker that asks for approval.

    >>> checker = PermissionChecker(READONLY_RULESET)
    >>> checker.is_allowed("read", "/app/main.py"), checker.is_denied("execute", "make")
    (True, True)
"""

from __future__ import annotations

from workden.permissions.checker import (
    PermissionAskError,
    PermissionChecker,
    PermissionDeniedError,
    PermissionError,
)
from workden.permissions.presets import (
    DEFAULT_RULESET,
    PERMISSIVE_RULESET,
    READONLY_RULESET,
    SECRETS_PATTERNS,
    STRICT_RULESET,
    SYSTEM_PATTERNS,
    create_ruleset,
)
from workden.permissions.types import (
    AskCallback,
    AskFallback,
    OperationPermissions,
    PermissionAction,
    PermissionOperation,
    PermissionRule,
    PermissionRuleset,
)

__all__ = [
    "DEFAULT_RULESET",
    "PERMISSIVE_RULESET",
    "READONLY_RULESET",
    "SECRETS_PATTERNS",
    "STRICT_RULESET",
    "SYSTEM_PATTERNS",
    "AskCallback",
    "AskFallback",
    "OperationPermissions",
    "PermissionAction",
    "PermissionAskError",
    "PermissionChecker",
    "PermissionDeniedError",
    "PermissionError",
    "PermissionOperation",
    "PermissionRule",
    "PermissionRuleset",
    "create_ruleset",
]
