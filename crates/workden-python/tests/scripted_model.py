"""A model for tests of agents: it makes the given calls, and records the answers."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset


class Run:
    """Runs an agent that makes these calls, one per step: `(tool, arguments)`, where arguments may be text."""

    def __init__(self, toolset: AbstractToolset[Any], *calls: tuple[str, Any], **options: Any) -> None:
        self.answers: list[Any] = []
        """The answers, one for each call."""
        self.outcomes: list[str] = []
        """The outcome of each: `success`, or a retry."""
        self.tools: list[Any] = []
        """The tools it was given."""
        self._calls = list(calls)
        self.agent: Agent[Any, Any] = Agent(FunctionModel(self._next), toolsets=[toolset], **options)
        self.result = self.agent.run_sync("go")

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = info.function_tools
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        for part in last.parts:
            if isinstance(part, (ToolReturnPart, RetryPromptPart)):
                self.answers.append(part.content)
                self.outcomes.append(getattr(part, "outcome", "retry"))
        if not self._calls:
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = self._calls.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, arguments)])
