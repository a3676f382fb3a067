"""Answers approval questions about a tool call, from the first of these sources:

1. The caller of the agent, with deferred calls: the run ends with the question, and continues with the answer.
2. A capability of the agent that handles deferred calls during the run.
3. The `ask_callback` of the toolset or of the backend.
4. The terminal.

Without any of them the call is refused, and the model is told so.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, ToolApproved, ToolDenied

from workden._ask_callbacks import call, callback_arguments
from workden._terminal import is_interactive
from workden.toolsets import _terminal
from workden.toolsets._deferred import may_end_with_questions

Answer = bool | tuple[bool, str] | None


class Approvals:
    """Answers the questions of one call."""

    def __init__(
        self,
        ctx: RunContext[Any] | None,
        *,
        deferred: bool | None,
        callback: Any,
        terminal: bool,
        earlier: dict[str, Any] | None = None,
        approved: bool = False,
    ) -> None:
        # Tools can be called directly with an object that only resembles a context: then there is no run.
        self._run = ctx if isinstance(ctx, RunContext) else None
        self._deferred = deferred
        self._callback = callback
        self._terminal = terminal
        self._earlier = earlier
        self._approved = approved or (self._run is not None and self._run.tool_call_approved)
        self.question: dict[str, Any] | None = None
        """The question that the run ends with."""
        self.override_args: dict[str, Any] | None = None
        """The arguments that were approved in place of the original ones."""
        self.unanswered = False
        """Whether no source answered."""

    def approved(self) -> Approvals:
        """Returns the approvals for a call that was approved."""
        return Approvals(self._run, deferred=self._deferred, callback=None, terminal=False, approved=True)

    async def __call__(self, question: str) -> Answer:
        """Called by the native module, and awaited where the tool was called."""
        summary = summarized(json.loads(question))
        if self._approved and not self._has_changed(summary):
            return True
        if self._defers():
            self.question = summary
            return None
        return await self._asked(summary)

    def _has_changed(self, summary: dict[str, Any]) -> bool:
        """Whether the approved target has changed since: another file content, or another target of the path."""
        earlier = self._earlier or {}
        same = all(earlier.get(name) == summary[name] for name in ("operation", "target"))
        leads_elsewhere = earlier.get("leads_to", summary["leads_to"]) != summary["leads_to"]
        return same and (leads_elsewhere or earlier.get("found") != summary["found"])

    def _defers(self) -> bool:
        if self._run is None:
            return False
        if self._deferred is not None:
            return self._deferred
        return may_end_with_questions(self._run)

    async def _asked(self, summary: dict[str, Any]) -> Answer:
        for way in (self._by_capability, self._by_callback, self._at_terminal):
            answer = await way(summary)
            if answer is not None:
                return answer
        self.unanswered = True
        return None

    async def _by_capability(self, summary: dict[str, Any]) -> Answer:
        run = self._run
        if run is None or run.tool_manager is None or run.tool_call_id is None:
            return None
        requests = DeferredToolRequests(approvals=[_part(run)], metadata={run.tool_call_id: summary})
        results = await run.tool_manager.resolve_deferred_tool_calls(requests)
        decided = None if results is None else results.to_tool_call_results().get(run.tool_call_id)
        if isinstance(decided, ToolDenied):
            return False, decided.message
        if isinstance(decided, ToolApproved):
            self.override_args = decided.override_args
            return decided.override_args is None
        return None

    async def _by_callback(self, summary: dict[str, Any]) -> Answer:
        if self._callback is None:
            return None
        return await call(self._callback, (summary["operation"], summary["target"], summary["reason"]))

    async def _at_terminal(self, summary: dict[str, Any]) -> Answer:
        if not self._terminal or not is_interactive():
            return None
        return await _terminal.answer(summary)


def summarized(request: dict[str, Any]) -> dict[str, Any]:
    """Returns a question of the native module as JSON-compatible data for approvers."""
    operation, target, reason = callback_arguments(request)
    return {
        "operation": operation,
        "target": target,
        "reason": reason,
        "description": request["description"],
        "preview": request.get("preview"),
        "left_out": request.get("left_out"),
        "found": request.get("targets", []),
        "leads_to": [path["real"] for path in request["paths"]],
    }


def _part(run: RunContext[Any]) -> ToolCallPart:
    """Returns the tool call that the model made."""
    responses = (message for message in reversed(run.messages) if isinstance(message, ModelResponse))
    calls = (call for response in responses for call in response.tool_calls)
    return next(call for call in calls if call.tool_call_id == run.tool_call_id)
