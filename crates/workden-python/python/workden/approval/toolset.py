"""`ApprovalToolset`: a toolset whose calls have to be approved."""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

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
"""Questions that are remembered until they are answered."""


class ApprovalToolset(WrapperToolset[Any]):
    """Asks before the tools of another toolset do something.

    A toolset with a method `needs_approval` says itself what has to be approved. Of another, everything has to be,
    but for the tools for which `config` has `{"pre_approved": True}`. A call that is not approved is answered with a
    sentence.

    Without a callback, an agent whose `output_type` has `DeferredToolRequests` ends its run with the question, and goes
    on with the answer, as Pydantic AI does it; of another agent, whoever sits at the terminal is asked.
    """

    def __init__(
        self,
        inner: AbstractToolset[Any],
        approval_callback: ApprovalCallback | None = None,
        memory: ApprovalMemory | None = None,
        config: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(inner)
        self._approval_callback = approval_callback
        self._memory = ApprovalMemory() if memory is None else memory
        self.config = config or {}
        self._questions: OrderedDict[str, dict[str, Any]] = OrderedDict()

    @property
    def id(self) -> str | None:
        """That of the toolset inside."""
        return self.wrapped.id

    def __getattr__(self, name: str) -> Any:
        # What this one does not have is looked for inside: `approved.sandbox`.
        if name.startswith("__") or "wrapped" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.wrapped, name)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """This toolset around what the one inside is for a run."""
        return self._around(await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """This toolset around what the one inside is for a step."""
        return self._around(await self.wrapped.for_run_step(ctx))

    def visit_and_replace(
        self, visitor: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    ) -> AbstractToolset[Any]:
        """This toolset around what a visitor makes of the one inside."""
        return self._around(self.wrapped.visit_and_replace(visitor))

    def _around(self, inner: AbstractToolset[Any]) -> ApprovalToolset:
        if inner is self.wrapped:
            return self
        other = copy.copy(self)
        other.wrapped = inner
        return other

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Calls a tool, if that is approved or need not be."""
        result = await self._result(name, tool_args, ctx)
        if result.is_blocked:
            return result.block_reason
        # A toolset that looks itself, when it comes to it, may have to ask nevertheless.
        unasked = getattr(self.wrapped, "call_tool_unasked", None)
        approved = self._approved(ctx)
        is_sure = approved == {} or (result.is_pre_approved and unasked is None)
        if is_sure:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        asking = _Asking(self, name, tool_args, await self._description(name, tool_args, ctx), ctx, approved)
        asks_itself = unasked if result.is_pre_approved else getattr(self.wrapped, "call_tool_asking", None)
        if asks_itself is not None:
            answer = await asks_itself(name, tool_args, ctx, tool, asking.decides)
            return asking.outcome(answer)
        approved, _ = await asking.decides(None)
        return asking.outcome(await self.wrapped.call_tool(name, tool_args, ctx, tool) if approved else None)

    def _approved(self, ctx: RunContext[Any]) -> dict[str, Any] | None:
        """The question that somebody approved, where it says what it was about; `None`, if nobody has."""
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
            return await _now(self.wrapped.needs_approval(name, tool_args, ctx))
        if self.config.get(name, {}).get("pre_approved"):
            return ApprovalResult.pre_approved()
        return ApprovalResult.needs_approval()

    async def _description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        if isinstance(self.wrapped, SupportsApprovalDescription):
            return await _now(self.wrapped.get_approval_description(name, tool_args, ctx))
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in tool_args.items())})"


class _Asking:
    """One call about which somebody is asked, at most once."""

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

    async def decides(self, preview: str | None, about: dict[str, Any] | None = None) -> tuple[bool, str | None]:
        """Asks, and remembers the answer if it is to be remembered.

        What somebody has approved before is asked about again if it is about something else by now.
        """
        if self._approved is not None and not self._is_another(self._approved, about):
            return True, None
        if self._decision is None:
            try:
                self._decision = await self._asked(preview, about or {})
            except Exception as raised:
                # The toolset inside takes this for a no; whoever called it is told what it was.
                self._raised = raised
                return False, None
        return self._decision.approved, self._decision.note

    def _is_another(self, approved: dict[str, Any], about: dict[str, Any] | None) -> bool:
        # Who approves may have changed the arguments: then they have seen what they approved.
        is_same_call = approved["description"] == self._request.description
        return about is not None and is_same_call and any(approved.get(name) != about[name] for name in about)

    async def _asked(self, preview: str | None, about: dict[str, Any]) -> ApprovalDecision:
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
        decision = await _now((callback or _terminal.prompt)(request))
        if not isinstance(decision, ApprovalDecision):
            decided = type(decision).__name__
            raise TypeError(f"approval_callback returns an ApprovalDecision(approved=...), and not {decided}")
        memory.store(request.tool_name, request.tool_args, decision)
        return decision

    def outcome(self, answer: Any) -> Any:
        """What the model is told: the answer of the tool, or that it was denied."""
        if self._raised is not None:
            raise self._raised
        if self._decision is None or self._decision.approved:
            return answer
        return f"User denied {self._request.tool_name}: {self._decision.note or 'no reason given'}"


async def _now(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
