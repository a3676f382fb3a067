"""The console as a Pydantic AI toolset: schemas and calls of the native module, and answers that never end a run."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic_ai import (
    ApprovalRequired,
    BinaryContent,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolDefinition,
    UserError,
)
from pydantic_core import SchemaValidator, core_schema

from workden import _rules
from workden._ask_callbacks import TOOL_CALL_CALLBACK
from workden._native import Failure
from workden._native_workspaces import unwrapped
from workden._refusals import OnDenied, is_denial
from workden.toolsets import _failure_messages, _texts
from workden.toolsets._approvals import Approvals
from workden.toolsets._media import DOCUMENT_EXTENSIONS, IMAGE_EXTENSIONS
from workden.toolsets._tool_cache import BackendTools, ToolCache

_MOST_QUESTIONS = 1000
"""Maximum number of unanswered questions to remember."""
_COMMANDS = frozenset({"execute", "run_in_background", "read_output", "kill_shell", "list_shells"})
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


@dataclass
class Console:
    """Configuration of a console toolset."""

    options: dict[str, Any]
    rules: str | None = None
    asks_for_commands: bool = False
    """Whether commands require approval regardless of the rules."""
    insists: bool = True
    """Whether they are refused if no source can answer."""
    backend: Any = None
    ask_callback: Any = None
    terminal: bool = True
    deferred: bool | None = None
    on_denied: OnDenied = "answer"
    _questions: OrderedDict[str, dict[str, Any]] = field(default_factory=lambda: OrderedDict())

    def __post_init__(self) -> None:
        self._cache = ToolCache(self.options, self.rules)
        images = IMAGE_EXTENSIONS if self.options["images"] else frozenset[str]()
        documents = DOCUMENT_EXTENSIONS if self.options["documents"] else frozenset[str]()
        self._shown = images | documents

    def toolset(self, id: str | None, max_retries: int) -> FunctionToolset[Any]:
        """Creates the toolset."""
        try:
            specs = _texts.specs(_texts.tools_over(_texts.unrestricted_workspace(), self.options, self.rules))
        except Failure as failure:
            raise ValueError(str(failure)) from None
        tools = [self._tool(spec) for spec in specs.values()]
        return FunctionToolset(tools, id=id, max_retries=max_retries)

    def _tool(self, spec: dict[str, Any]) -> Tool[Any]:
        name: str = spec["name"]
        named = list(spec["parameters"].get("properties", {}))

        async def call(ctx: RunContext[Any], *positional: Any, **arguments: Any) -> Any:
            return await self._called(ctx, name, {**dict(zip(named, positional)), **arguments})

        def prepare(ctx: RunContext[Any], definition: ToolDefinition) -> ToolDefinition | None:
            backend = self._given_backend(ctx)
            if backend is None:
                # A run that calls no tool needs no backend.
                return replace(definition, kind="function")
            tools = self._tools_for(backend, name)
            if name not in tools.specs:
                return None
            return replace(definition, description=tools.specs[name]["description"], kind="function")

        call.__name__ = call.__qualname__ = name
        tool: Tool[Any] = cast("Any", Tool).from_schema(call, name, spec["description"], spec["parameters"], takes_ctx=True)
        tool.function_schema.validator = _OBJECT
        tool.prepare = prepare
        # Informational: the actual question is asked during the call, and only if approval is required.
        tool.requires_approval = self._asks_about(name)
        return tool

    def _asks_about(self, tool: str) -> bool:
        if tool in ("write_file", "edit_file", "hashline_edit"):
            asks, operation = self.options["write_approval"] == "always", "write" if tool == "write_file" else "edit"
        elif tool in ("execute", "run_in_background"):
            asks, operation = self.asks_for_commands, "execute"
        else:
            return False
        return asks or (self.rules is not None and _rules.asks_by_default(self.rules, operation))

    def _given_backend(self, ctx: RunContext[Any]) -> Any:
        return getattr(ctx.deps, "backend", None) if self.backend is None else self.backend

    def _backend(self, ctx: RunContext[Any]) -> Any:
        backend = self._given_backend(ctx)
        if backend is None:
            raise UserError(
                "the console requires `deps.backend`, which is not set: run the agent with `deps` that have a backend, "
                "or use `ConsoleCapability(backend=...)`"
            )
        return backend

    def _tools_for(self, backend: Any, tool: str, *, insists: bool = True) -> BackendTools:
        is_asked = insists and self.asks_for_commands and tool in _COMMANDS
        return self._cache.tools_for(backend, "always" if is_asked else "as_policy")

    async def _called(self, ctx: RunContext[Any], name: str, arguments: dict[str, Any]) -> Any:
        backend = self._backend(ctx)
        approvals = self._approvals_for(ctx, backend)
        try:
            return await self._answered(backend, name, arguments, approvals)
        except Failure as failed:
            failure = failed
        except Exception as error:
            return f"Error: {type(error).__name__}: {error}"
        if approvals.question is not None:
            self._remember(ctx, approvals.question)
            raise ApprovalRequired(metadata=approvals.question)
        text = _failure_messages.failure_text(name, arguments, failure.kind, str(failure), self._shown)
        if self.on_denied == "raise" and is_denial(failure):
            raise PermissionError(text.removeprefix("Error: "))
        if failure.kind in _failure_messages.RETRYABLE and not getattr(ctx, "last_attempt", True):
            raise ModelRetry(text)
        return text

    async def _answered(self, backend: Any, name: str, arguments: dict[str, Any], approvals: Approvals) -> Any:
        tools = self._tools_for(backend, name)
        if name not in tools.specs:
            return _failure_messages.unavailable_text(name, unwrapped(backend))
        try:
            answer = await _call(tools, name, arguments, approvals)
        except Failure:
            if approvals.override_args is not None:
                arguments, approvals = approvals.override_args, approvals.approved()
            elif approvals.unanswered and name in _COMMANDS and self.asks_for_commands and not self.insists:
                # Approval was not requested explicitly, so the rules decide.
                tools = self._tools_for(backend, name, insists=False)
            else:
                raise
            answer = await _call(tools, name, arguments, approvals)
        text, beside, _ = answer
        for _, media_type, _, content in beside:
            return BinaryContent(data=content, media_type=media_type)
        return _failure_messages.success_text(name, arguments, text, self._shown)

    def _approvals_for(self, ctx: RunContext[Any], backend: Any) -> Approvals:
        inner = unwrapped(backend)
        callback = self.ask_callback or getattr(inner, "_ask_callback", None)
        terminal = self.terminal and getattr(inner, "_ask_fallback", None) != "deny"
        before = self._questions.pop(getattr(ctx, "tool_call_id", None) or "", None)
        handed_on: object = getattr(ctx, "tool_call_metadata", None)
        if isinstance(handed_on, dict) and "found" in handed_on:
            before = cast("dict[str, Any]", handed_on)
        return Approvals(ctx, deferred=self.deferred, callback=callback, terminal=terminal, earlier=before)

    def _remember(self, ctx: RunContext[Any], question: dict[str, Any]) -> None:
        self._questions[ctx.tool_call_id or ""] = question
        if len(self._questions) > _MOST_QUESTIONS:
            self._questions.popitem(last=False)


async def _call(tools: BackendTools, name: str, arguments: dict[str, Any], approvals: Approvals) -> Any:
    # Nested backends ask the same source: the native call captures this context.
    before = TOOL_CALL_CALLBACK.set(approvals)
    try:
        answer = tools.native.call_async(name, _as_json(arguments), approvals)
    finally:
        TOOL_CALL_CALLBACK.reset(before)
    return await answer


def _as_json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, default=os.fspath)
