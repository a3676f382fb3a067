"""Asks a ruleset, and whoever has to approve."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Literal, cast

from typing_extensions import deprecated

from workden._asking import yes_or_no
from workden._native import Failure, Rules
from workden.permissions.types import (
    PermissionAction,
    PermissionOperation,
    PermissionRule,
    PermissionRuleset,
)

__all__ = [
    "AskCallback",
    "AskFallback",
    "PermissionAskError",
    "PermissionChecker",
    "PermissionDeniedError",
    "PermissionError",
]

AskCallback = Callable[[PermissionOperation, str, str], "bool | Awaitable[bool]"]
"""Is given the operation, what it is about, and a reason; answers whether it is approved."""

AskFallback = Literal["deny", "error"]
"""What holds where somebody has to approve and there is nobody to ask."""


class PermissionAskError(Exception):
    """Somebody has to approve, and there is nobody to ask."""

    def __init__(self, operation: PermissionOperation, target: str, reason: str = "") -> None:
        self.operation = operation
        self.target = target
        self.reason = reason
        because = f": {reason}" if reason else ""
        super().__init__(f"Permission required for {operation} on '{target}'{because}")


@deprecated("Use `PermissionAskError`: this name hides the builtin one.")
class PermissionError(PermissionAskError):
    """The former name of `PermissionAskError`."""


class PermissionDeniedError(Exception):
    """It is not permitted: by a rule, or because somebody did not approve."""

    def __init__(self, operation: PermissionOperation, target: str, rule: PermissionRule | None = None) -> None:
        self.operation = operation
        self.target = target
        self.rule = rule
        because = f": {rule.description}" if rule and rule.description else ""
        super().__init__(f"Permission denied for {operation} on '{target}'{because}")


class PermissionChecker:
    """Says what a ruleset makes of an operation.

    The ruleset is compiled when the checker is made: to change it, make another checker.

        >>> from workden.permissions import DEFAULT_RULESET
        >>> checker = PermissionChecker(DEFAULT_RULESET)
        >>> checker.check_sync("read", "/app/main.py"), checker.check_sync("read", "/app/.env")
        ('allow', 'deny')

    Raises:
        ValueError: A pattern of the ruleset is none. The message says which.
    """

    def __init__(
        self,
        ruleset: PermissionRuleset,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
    ) -> None:
        self._ruleset = ruleset
        self._ask_callback = ask_callback
        self._ask_fallback = ask_fallback
        try:
            rules = Rules(ruleset.model_dump_json())
        except Failure as failure:
            raise ValueError(str(failure)) from failure
        self._explain = rules.explain
        self._check = rules.check

    @property
    def ruleset(self) -> PermissionRuleset:
        """The ruleset."""
        return self._ruleset

    def check_sync(self, operation: PermissionOperation, target: str) -> PermissionAction:
        """What holds for an operation on a path, or for a command. Nobody is asked."""
        return self._check(operation, target)

    async def check(self, operation: PermissionOperation, target: str, reason: str = "") -> bool:
        """Asks whom there is to ask.

        Returns:
            `True`: it is permitted.

        Raises:
            PermissionDeniedError: It is not.
            PermissionAskError: Somebody has to approve, and there is nobody to ask.
        """
        action = self._check(operation, target)
        if action == "allow":
            return True
        if action == "deny":
            raise PermissionDeniedError(operation, target, self._find_matching_rule(operation, target))
        if self._ask_callback is not None:
            answer = self._ask_callback(operation, target, reason)
            if yes_or_no(await answer if inspect.isawaitable(answer) else answer):
                return True
            raise PermissionDeniedError(operation, target)
        if self._ask_fallback == "error":
            raise PermissionAskError(operation, target, reason)
        raise PermissionDeniedError(operation, target)

    def is_allowed(self, operation: PermissionOperation, target: str) -> bool:
        """Whether it is allowed without asking."""
        return self._check(operation, target) == "allow"

    def is_denied(self, operation: PermissionOperation, target: str) -> bool:
        """Whether it is denied without asking."""
        return self._check(operation, target) == "deny"

    def requires_approval(self, operation: PermissionOperation, target: str) -> bool:
        """Whether somebody has to approve."""
        return self._check(operation, target) == "ask"

    def _find_matching_rule(self, operation: PermissionOperation, target: str) -> PermissionRule | None:
        """The rule that decides. For a command that can be one about a file that it would touch."""
        _, of, index, _ = self._explain(operation, target)
        if of is None or index is None:
            return None
        return self._ruleset.get_operation_permissions(cast("PermissionOperation", of)).rules[index]
