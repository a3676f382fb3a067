"""The model of these examples: a real one if you name it, and otherwise a scripted one.

    WORKDEN_EXAMPLE_MODEL=openai:gpt-4o python examples/python/local_agent.py
"""

from __future__ import annotations

import os
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel


def model(*calls: tuple[str, dict[str, Any]]) -> Model | str:
    """Returns a model that makes these tool calls one after the other, and returns the last answer."""
    named = os.environ.get("WORKDEN_EXAMPLE_MODEL")
    if named:
        return named

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = sum(isinstance(message, ModelResponse) for message in messages)
        if made < len(calls):
            name, arguments = calls[made]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart(last_answer(messages))])

    return FunctionModel(respond)


def last_answer(messages: list[ModelMessage]) -> str:
    """Returns the answer of the last tool."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    answers = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
    return str(answers[-1].content) if answers else "nothing was done"
