"""Models for examples: each makes the given calls one after the other, and then returns the answers."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def plays(*calls: tuple[str, dict[str, Any]]) -> FunctionModel:
    """Returns a model that makes these calls. Its last answer joins the answers of the tools with line breaks."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = sum(isinstance(message, ModelResponse) for message in messages)
        if made < len(calls):
            name, arguments = calls[made]
            offered = [tool.name for tool in info.function_tools]
            assert name in offered, f"{name} is not among {offered}"
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart("\n".join(str(answer) for answer in answers(messages)))])

    return FunctionModel(respond)


def answers(messages: list[ModelMessage]) -> list[Any]:
    """Returns the answers of the tools."""
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part.content for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]


FIBONACCI = "a, b = 0, 1\nfor _ in range(10):\n    print(a, end=' ')\n    a, b = b, a + b\n"
FIBONACCI_SAYS = "0 1 1 2 3 5 8 13 21 34"
MAKES_FIBONACCI = (
    ("write_file", {"path": "fibonacci.py", "content": FIBONACCI}),
    ("execute", {"command": "python3 fibonacci.py"}),
)
