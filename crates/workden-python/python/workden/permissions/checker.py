"""Checks operations against a ruleset, and asks for approval."""

from __future__ import annotations

import inspect
from typing import cast

from typing_extensions import deprecated

from workden._ask_callbacks import yes_or_no
from workden._native import Failure, Rules
from workden.permissions.types import (
    AskCallback,
    AskFallback,
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


class PermissionAskError(Exception):
    """Approval is required, and no callback is set."""

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
    """The operation is denied by a rule or by a callback."""

    def __init__(self, operation: PermissionOperation, target: str, rule: PermissionRule | None = None) -> None:
        self.operation = operation
        self.target = target
        self.rule = rule
        because = f": {rule.description}" if rule and rule.description else ""
        super().__init__(f"Permission denied for {operation} on '{target}'{because}")


class PermissionChecker:
    """Evaluates a ruleset.

    The ruleset is compiled by the constructor: to change it, create another checker.

        >>> from workden.permissions import DEFAULT_RULESET
        >>> checker = PermissionChecker(DEFAULT_RULESET)
        >>> checker.check_sync("read", "/app/main.py"), checker.check_sync("read", "/app/.env")
        ('allow', 'deny')

    Raises:
        ValueError: A pattern of the ruleset is invalid. The message names it.
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
        """The ruleset of this checker."""
        return self._ruleset

    def check_sync(self, operation: PermissionOperation, target: str) -> PermissionAction:
        """Returns the action for an operation on a path, or for a command. Does not ask."""
        return self._check(operation, target)

    async def check(self, operation: PermissionOperation, target: str, reason: str = "") -> bool:
        """Checks an operation, and asks the callback if approval is required.

        Returns:
            `True`: it is permitted.

        Raises:
            PermissionDeniedError: The operation is denied.
            PermissionAskError: Approval is required, and no callback is set.
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
        """Whether the operation is allowed without approval."""
        return self._check(operation, target) == "allow"

    def is_denied(self, operation: PermissionOperation, target: str) -> bool:
        """Whether the operation is denied without asking."""
        return self._check(operation, target) == "deny"

    def requires_approval(self, operation: PermissionOperation, target: str) -> bool:
        """Whether the operation requires approval."""
        return self._check(operation, target) == "ask"

    def _denies_all(self, operation: PermissionOperation) -> bool:
        """Whether no path, or no command, can be permitted."""
        return all(self._denies_first(operation, target) for target in ("*", "any/other name"))

    def _denies_first(self, operation: PermissionOperation, target: str) -> bool:
        action, of, index, _ = self._explain(operation, target)
        # A rule before the deciding one, or before the default, may permit other targets.
        earlier = self._ruleset.get_operation_permissions(operation).rules[:index]
        return action == "deny" and of in (operation, None) and all(rule.action == "deny" for rule in earlier)

    def _find_matching_rule(self, operation: PermissionOperation, target: str) -> PermissionRule | None:
        """Returns the deciding rule. For a command it can be a rule about a file that the command would touch."""
        _, of, index, _ = self._explain(operation, target)
        if of is None or index is None:
            return None
        return self._ruleset.get_operation_permissions(cast("PermissionOperation", of)).rules[index]
