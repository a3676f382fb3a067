"""The console as a toolset of Pydantic AI: schemas from the native half, calls into it, answers that end no run."""

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

from workden._asking import CALLING
from workden._native import Failure
from workden._place_of import unwrapped
from workden import _rules
from workden.toolsets import _texts, _words
from workden.toolsets._asks import Asking
from workden.toolsets._media import DOCUMENT_EXTENSIONS, IMAGE_EXTENSIONS
from workden.toolsets._met import Met, Offered

_MOST_QUESTIONS = 1000
"""Questions that are remembered until they are answered."""
_COMMANDS = frozenset({"execute", "run_in_background", "read_output", "kill_shell", "list_shells"})
_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


@dataclass
class Console:
    """What a console is made with."""

    options: dict[str, Any]
    rules: str | None = None
    asks_for_commands: bool = False
    """Whether commands have to be approved, whatever the rules say."""
    insists: bool = True
    """Whether that holds where there is nobody to ask, too."""
    backend: Any = None
    ask_callback: Any = None
    terminal: bool = True
    deferred: bool | None = None
    _questions: OrderedDict[str, dict[str, Any]] = field(default_factory=lambda: OrderedDict())

    def __post_init__(self) -> None:
        self._met = Met(self.options, self.rules)
        images = IMAGE_EXTENSIONS if self.options["images"] else frozenset[str]()
        documents = DOCUMENT_EXTENSIONS if self.options["documents"] else frozenset[str]()
        self._shown = images | documents

    def toolset(self, id: str | None, max_retries: int) -> FunctionToolset[Any]:
        """The toolset."""
        try:
            specs = _texts.specs(_texts.tools_over(_texts.anywhere(), self.options, self.rules))
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
            offered = self._offered(self._backend(ctx), name)
            if name not in offered.specs:
                return None
            return replace(definition, description=offered.specs[name]["description"], kind="function")

        call.__name__ = call.__qualname__ = name
        tool: Tool[Any] = cast("Any", Tool).from_schema(call, name, spec["description"], spec["parameters"], takes_ctx=True)
        tool.function_schema.validator = _OBJECT
        tool.prepare = prepare
        # For those who look: calls are asked about when they are made, and only if somebody has to be asked.
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

    def _backend(self, ctx: RunContext[Any]) -> Any:
        if self.backend is not None:
            return self.backend
        backend = getattr(ctx.deps, "backend", None)
        if backend is None:
            raise UserError(
                "the console works with `deps.backend`, which is not there: run the agent with `deps` that have a "
                "backend, or give it to `ConsoleCapability(backend=...)`"
            )
        return backend

    def _offered(self, backend: Any, tool: str, *, insists: bool = True) -> Offered:
        is_asked = insists and self.asks_for_commands and tool in _COMMANDS
        return self._met.offered(backend, "always" if is_asked else "as_policy")

    async def _called(self, ctx: RunContext[Any], name: str, arguments: dict[str, Any]) -> Any:
        backend = self._backend(ctx)
        asking = self._asking(ctx, backend)
        try:
            return await self._answered(backend, name, arguments, asking)
        except Failure as failed:
            failure = failed
        except Exception as error:
            return f"Error: {type(error).__name__}: {error}"
        if asking.question is not None:
            self._remember(ctx, asking.question)
            raise ApprovalRequired(metadata=asking.question)
        text = _words.told(name, arguments, failure.kind, str(failure), self._shown)
        if failure.kind in _words.FIXABLE and not getattr(ctx, "last_attempt", True):
            raise ModelRetry(text)
        return text

    async def _answered(self, backend: Any, name: str, arguments: dict[str, Any], asking: Asking) -> Any:
        offered = self._offered(backend, name)
        if name not in offered.specs:
            return _words.not_offered(name, unwrapped(backend))
        try:
            answer = await _call(offered, name, arguments, asking)
        except Failure:
            if asking.instead is not None:
                arguments, asking = asking.instead, asking.approving()
            elif asking.nobody and name in _COMMANDS and self.asks_for_commands and not self.insists:
                # Nobody wanted to be asked: what the rules say holds.
                offered = self._offered(backend, name, insists=False)
            else:
                raise
            answer = await _call(offered, name, arguments, asking)
        text, beside, _ = answer
        for _, media_type, _, content in beside:
            return BinaryContent(data=content, media_type=media_type)
        return _words.answered(name, arguments, text, self._shown)

    def _asking(self, ctx: RunContext[Any], backend: Any) -> Asking:
        inner = unwrapped(backend)
        callback = self.ask_callback or getattr(inner, "_ask_callback", None)
        terminal = self.terminal and getattr(inner, "_ask_fallback", None) != "deny"
        before = self._questions.pop(getattr(ctx, "tool_call_id", None) or "", None)
        handed_on: object = getattr(ctx, "tool_call_metadata", None)
        if isinstance(handed_on, dict) and "found" in handed_on:
            before = cast("dict[str, Any]", handed_on)
        return Asking(ctx, deferred=self.deferred, callback=callback, terminal=terminal, before=before)

    def _remember(self, ctx: RunContext[Any], question: dict[str, Any]) -> None:
        self._questions[ctx.tool_call_id or ""] = question
        if len(self._questions) > _MOST_QUESTIONS:
            self._questions.popitem(last=False)


async def _call(offered: Offered, name: str, arguments: dict[str, Any], asking: Asking) -> Any:
    # Rules of backends that are inside of another ask the same: the call takes this along.
    before = CALLING.set(asking)
    try:
        answer = offered.tools.call_async(name, _as_json(arguments), asking)
    finally:
        CALLING.reset(before)
    return await answer


def _as_json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, default=os.fspath)
