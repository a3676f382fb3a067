"""An agent of Pydantic AI, with the tools that the program on standard input gives it.

Its model is the function below: each turn looks at what the last tool answered, and gives up if that is wrong.
"""

import asyncio
import json
import sys

from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

# A tool, its arguments, and a text that its answer must contain. The toolset gives the model the data of an answer
# instead of its text, if there is data.
STEPS = [
    ("write_file", {"path": "hello.sh", "content": "echo hello\n"}, '"path":"/workspace/hello.sh"'),
    ("edit_file", {"path": "hello.sh", "old_string": "hello", "new_string": "hello, world"}, '"replaced":1'),
    ("grep", {"pattern": "hello, w", "output_mode": "content"}, "echo hello, world"),
    ("execute", {"command": "sh hello.sh"}, "hello, world\n"),
    # A refusal also reaches the model, which continues.
    ("read_file", {"path": ".env"}, "the policy denies it"),
    ("read_file", {"path": "notes.md"}, "     1\tremember"),
]


def answers(messages):
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_name]


def model(messages, info):
    offered = {tool.name for tool in info.function_tools}
    seen = answers(messages)
    for (tool, _, expected), answer in zip(STEPS, seen):
        text = answer.model_response_str() if isinstance(answer, ToolReturnPart) else answer.model_response()
        if expected not in text:
            return ModelResponse(parts=[TextPart(f"{tool} answered: {text}")])
    if len(seen) < len(STEPS):
        tool, arguments, _ = STEPS[len(seen)]
        assert tool in offered, offered
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])
    return ModelResponse(parts=[TextPart("It prints `hello, world`, and the secret stays one.")])


async def main():
    given = {}
    exec(sys.stdin.read(), given)
    agent = given["agent"]
    with agent.override(model=FunctionModel(model)):
        result = await asyncio.wait_for(agent.run("Write a greeting, and mind the secret."), 50)
    called = [answer.tool_name for answer in answers(result.all_messages())]
    print(json.dumps({"answer": result.output, "calls": called}))


asyncio.run(main())
