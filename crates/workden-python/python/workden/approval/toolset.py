"""`ApprovalToolset`: a toolset whose calls require approval."""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

from workden._refusals import OnDenied, checked
from workden.approval import _terminal
from workden.approval.memory import ApprovalMemory
from workden.approval.types import (
    ApprovalCallback,
    ApprovalDecision,
    ApprovalRequest,
    ApprovalResult,
    SupportsApprovalDescription,
    SupportsNeedsApproval,
)
from workden.toolsets import _extra

try:
    from pydantic_ai.exceptions import ApprovalRequired
    from pydantic_ai.tools import RunContext
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

    from workden.toolsets._deferred import may_end_with_questions
except ImportError as error:
    raise _extra.missing(error) from error

__all__ = ["ApprovalToolset"]

_MOST_QUESTIONS = 1000
"""Maximum number of unanswered questions to remember."""


class ApprovalToolset(WrapperToolset[Any]):
    """Asks before it calls the tools of another toolset.

    A toolset with a method `needs_approval` decides itself what requires approval. Otherwise every tool does, except
    those with `{"pre_approved": True}` in `config`. A denied or blocked call is answered with a sentence; with
    `on_denied="raise"` it ends the run with a `PermissionError`.

    Without a callback, an agent whose `output_type` includes `DeferredToolRequests` ends its run with the question and
    continues with the answer, as usual in Pydantic AI. Other agents ask at the terminal.
    """

    def __init__(
        self,
        inner: AbstractToolset[Any],
        approval_callback: ApprovalCallback | None = None,
        memory: ApprovalMemory | None = None,
        config: dict[str, dict[str, Any]] | None = None,
        *,
        on_denied: OnDenied = "answer",
    ) -> None:
        super().__init__(inner)
        self._on_denied: OnDenied = checked(on_denied)
        self._approval_callback = approval_callback
        self._memory = ApprovalMemory() if memory is None else memory
        self.config = config or {}
        self._questions: OrderedDict[str, dict[str, Any]] = OrderedDict()

    @property
    def id(self) -> str | None:
        """The id of the wrapped toolset."""
        return self.wrapped.id

    def __getattr__(self, name: str) -> Any:
        # Other attributes come from the wrapped toolset: `approved.sandbox`.
        if name.startswith("__") or "wrapped" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.wrapped, name)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """Wraps the toolset that the wrapped one returns for a run."""
        return self._wrapping(await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """Wraps the toolset that the wrapped one returns for a step."""
        return self._wrapping(await self.wrapped.for_run_step(ctx))

    def visit_and_replace(
        self, visitor: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    ) -> AbstractToolset[Any]:
        """Wraps the toolset that the visitor returns for the wrapped one."""
        return self._wrapping(self.wrapped.visit_and_replace(visitor))

    def _wrapping(self, inner: AbstractToolset[Any]) -> ApprovalToolset:
        if inner is self.wrapped:
            return self
        other = copy.copy(self)
        other.wrapped = inner
        return other

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Calls a tool if it is approved, or needs no approval."""
        result = await self._result(name, tool_args, ctx)
        if result.is_blocked:
            return self._denied(result.block_reason)
        # A toolset that checks approvals during the call may still have to ask.
        unasked = getattr(self.wrapped, "call_tool_unasked", None)
        approved = self._approved(ctx)
        is_sure = approved == {} or (result.is_pre_approved and unasked is None)
        if is_sure:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        asking = _ApprovalCall(self, name, tool_args, await self._description(name, tool_args, ctx), ctx, approved)
        asks_itself = unasked if result.is_pre_approved else getattr(self.wrapped, "call_tool_asking", None)
        if asks_itself is not None:
            answer = await asks_itself(name, tool_args, ctx, tool, asking.decide)
            return asking.outcome(answer)
        approved, _ = await asking.decide(None)
        return asking.outcome(await self.wrapped.call_tool(name, tool_args, ctx, tool) if approved else None)

    def _denied(self, reason: str | None) -> str | None:
        if self._on_denied == "raise":
            raise PermissionError(reason)
        return reason

    def _approved(self, ctx: RunContext[Any]) -> dict[str, Any] | None:
        """Returns the approved question, empty if it does not describe a file state; `None` without an approval."""
        asked = self._questions.pop(getattr(ctx, "tool_call_id", None) or "", {})
        if getattr(ctx, "tool_call_approved", False) is not True:
            return None
        handed_on = getattr(ctx, "tool_call_metadata", None)
        question = cast("dict[str, Any]", handed_on) if isinstance(handed_on, dict) else asked
        return question if "found" in question and "description" in question else {}

    def _remember(self, ctx: RunContext[Any], question: dict[str, Any]) -> None:
        self._questions[getattr(ctx, "tool_call_id", None) or ""] = question
        if len(self._questions) > _MOST_QUESTIONS:
            self._questions.popitem(last=False)

    async def _result(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> ApprovalResult:
        if isinstance(self.wrapped, SupportsNeedsApproval):
            return await _resolved(self.wrapped.needs_approval(name, tool_args, ctx))
        if self.config.get(name, {}).get("pre_approved"):
            return ApprovalResult.pre_approved()
        return ApprovalResult.needs_approval()

    async def _description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        if isinstance(self.wrapped, SupportsApprovalDescription):
            return await _resolved(self.wrapped.get_approval_description(name, tool_args, ctx))
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in tool_args.items())})"


class _ApprovalCall:
    """The approval of one call. It asks at most once."""

    def __init__(
        self,
        toolset: ApprovalToolset,
        name: str,
        tool_args: dict[str, Any],
        description: str,
        ctx: RunContext[Any],
        approved: dict[str, Any] | None,
    ) -> None:
        self._toolset = toolset
        self._ctx = ctx
        self._approved = approved
        self._request = ApprovalRequest(tool_name=name, tool_args=tool_args, description=description)
        self._decision: ApprovalDecision | None = None
        self._raised: Exception | None = None

    async def decide(self, preview: str | None, about: dict[str, Any] | None = None) -> tuple[bool, str | None]:
        """Asks for approval, and remembers the answer if requested.

        A call that was approved before is asked about again if its target has changed since.
        """
        if self._approved is not None and not self._has_changed(self._approved, about):
            return True, None
        if self._decision is None:
            try:
                self._decision = await self._ask(preview, about or {})
            except Exception as raised:
                # The wrapped toolset treats this as a denial; `outcome` raises the exception for the caller.
                self._raised = raised
                return False, None
        return self._decision.approved, self._decision.note

    def _has_changed(self, approved: dict[str, Any], about: dict[str, Any] | None) -> bool:
        # The approver may have edited the arguments, and then has seen the new ones.
        is_same_call = approved["description"] == self._request.description
        return about is not None and is_same_call and any(approved.get(name) != about[name] for name in about)

    async def _ask(self, preview: str | None, about: dict[str, Any]) -> ApprovalDecision:
        memory, request = self._toolset._memory, self._request
        known = memory.lookup(request.tool_name, request.tool_args)
        if known is not None and known.approved:
            return known
        request = request.model_copy(update={"preview": preview})
        callback = self._toolset._approval_callback
        if callback is None and may_end_with_questions(self._ctx):
            question = {"description": request.description, "preview": preview, **about}
            self._toolset._remember(self._ctx, question)
            raise ApprovalRequired(metadata=question)
        decision = await _resolved((callback or _terminal.prompt)(request))
        if not isinstance(decision, ApprovalDecision):
            decided = type(decision).__name__
            raise TypeError(f"approval_callback must return an ApprovalDecision(approved=...), not {decided}")
        memory.store(request.tool_name, request.tool_args, decision)
        return decision

    def outcome(self, answer: Any) -> Any:
        """Returns the answer for the model: the result of the tool, or the denial."""
        if self._raised is not None:
            raise self._raised
        if self._decision is None or self._decision.approved:
            return answer
        why = self._decision.note or "no reason given"
        return self._toolset._denied(f"User denied {self._request.tool_name}: {why}")


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
