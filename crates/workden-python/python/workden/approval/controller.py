"""`ApprovalController`: decides how approval requests are answered."""

from __future__ import annotations

import inspect
from typing import Literal

from workden.approval import _terminal
from workden.approval.memory import ApprovalMemory
from workden.approval.types import ApprovalCallback, ApprovalDecision, ApprovalRequest

__all__ = ["ApprovalController"]


class ApprovalController:
    """Answers approval requests.

    `interactive` asks the callback, or else the terminal; without a terminal, the answer is no. `approve_all` approves
    everything, for tests. `strict` denies everything, for programs without a user.
    """

    def __init__(
        self,
        mode: Literal["interactive", "approve_all", "strict"] = "interactive",
        approval_callback: ApprovalCallback | None = None,
    ) -> None:
        self.mode = mode
        self._approval_callback = approval_callback
        self._memory = ApprovalMemory()

    @property
    def memory(self) -> ApprovalMemory:
        """The remembered decisions."""
        return self._memory

    @property
    def approval_callback(self) -> ApprovalCallback:
        """The callback for an `ApprovalToolset`. It applies the mode, and in `interactive` the given callback."""
        if self.mode != "interactive":
            return self._by_mode
        return self._approval_callback or _terminal.prompt

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        """Whether the same call was approved for the session."""
        known = self._memory.lookup(request.tool_name, request.tool_args)
        return known is not None and known.approved

    def clear_session_approvals(self) -> None:
        """Forgets the approvals of the session."""
        self._memory.clear()

    def request_approval_sync(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decides about a request with a synchronous callback."""
        known = self._without_asking(request)
        if known is not None:
            return known
        callback = self.approval_callback
        if inspect.iscoroutinefunction(callback):
            raise TypeError(
                "request_approval_sync() requires a sync callback. Use request_approval() for async callbacks."
            )
        decision = callback(request)
        assert isinstance(decision, ApprovalDecision)
        return self._remember(request, decision)

    async def request_approval(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decides about a request with any callback."""
        known = self._without_asking(request)
        if known is not None:
            return known
        decision = self.approval_callback(request)
        return self._remember(request, await decision if inspect.isawaitable(decision) else decision)

    def _by_mode(self, request: ApprovalRequest) -> ApprovalDecision:
        if self.mode == "approve_all":
            return ApprovalDecision(approved=True)
        return ApprovalDecision(approved=False, note=f"Strict mode: {request.tool_name} requires approval")

    def _without_asking(self, request: ApprovalRequest) -> ApprovalDecision | None:
        if self.mode != "interactive":
            return self._by_mode(request)
        return self._memory.lookup(request.tool_name, request.tool_args)

    def _remember(self, request: ApprovalRequest, decision: ApprovalDecision) -> ApprovalDecision:
        if decision.approved:
            self._memory.store(request.tool_name, request.tool_args, decision)
        return decision
