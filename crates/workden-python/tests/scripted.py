"""Real agents with a scripted model, which makes the given calls one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from workden.toolsets.console import create_console_toolset
from workden.types import BackgroundHandle, BackgroundOutput, BackgroundProcessInfo, EditResult, ExecuteResponse, WriteResult


@dataclass
class Deps:
    """Dependencies with the backend of the console."""

    backend: Any


@dataclass
class Script:
    """A model that makes these calls, each in its own response, and then says `done`."""

    calls: list[tuple[str, dict[str, Any] | str]]
    offered: dict[str, str] = field(default_factory=dict)
    """The tools of the last request, with their descriptions."""
    instructions: str | None = None

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered = {tool.name: tool.description or "" for tool in info.function_tools}
        self.instructions = info.instructions
        made = sum(isinstance(message, ModelResponse) for message in messages)
        if made == len(self.calls):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(*self.calls[made], tool_call_id=f"call-{made}")])

    def agent(self, *toolsets: Any, **others: Any) -> Agent[Any, Any]:
        """Returns an agent with this model."""
        return Agent(FunctionModel(self), toolsets=toolsets, **others)


def answers(messages: list[ModelMessage]) -> list[Any]:
    """Returns the answers of the tools, in order."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


async def run(toolset: Any, backend: Any, *calls: tuple[str, dict[str, Any] | str], **others: Any) -> list[Any]:
    """Returns the answers to these calls."""
    result = await Script(list(calls)).agent(toolset, **others).run("go", deps=Deps(backend))
    assert result.output == "done"
    return answers(result.all_messages())


async def answer(backend: Any, tool: str, arguments: dict[str, Any] | str, **options: Any) -> Any:
    """Returns the answer to one call, which must not be a retry."""
    return (await run(create_console_toolset(max_retries=0, **options), backend, (tool, arguments)))[0]


class PlainBackend:
    """A custom backend: files in a dictionary. Only the result types are those of workden."""

    def __init__(self, **files: str) -> None:
        self.files = {f"/{name}".replace("_dot_", "."): text for name, text in files.items()}
        self.called: list[str] = []

    def exists(self, path: str) -> bool:
        return path in self.files

    def ls_info(self, path: str) -> list[dict[str, Any]]:
        self.called.append(f"ls {path}")
        return [{"name": p[1:], "path": p, "is_dir": False, "size": len(t)} for p, t in self.files.items() if path == "/"]

    def read_bytes(self, path: str) -> bytes:
        self.called.append(f"read {path}")
        return self.files.get(path, "").encode()

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return self.files[path]

    def write(self, path: str, content: str | bytes) -> WriteResult:
        self.files[path] = content if isinstance(content, str) else content.decode()
        return WriteResult(path=path)

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        raise NotImplementedError

    def glob_info(self, pattern: str, path: str = "/") -> list[dict[str, Any]]:
        return self.ls_info("/")

    def grep_raw(self, pattern: str, path: Any = None, glob: Any = None, ignore_hidden: bool = True) -> Any:
        hits = ((p, n, line) for p, text in self.files.items() for n, line in enumerate(text.splitlines(), 1))
        return [{"path": p, "line_number": n, "line": line} for p, n, line in hits if pattern in line]


class PlainSandbox(PlainBackend):
    """The same, with commands that print what they would do."""

    id = "plain"

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        if command == "pwd":
            return ExecuteResponse(output="/\n", exit_code=0)
        return ExecuteResponse(output=f"would run {command}", exit_code=1 if command == "false" else 0)

    def execute_background(self, command: str) -> BackgroundHandle:
        return BackgroundHandle(shell_id="bg_1", pid=7, command=command)

    def read_background(self, shell_id: str) -> BackgroundOutput:
        return BackgroundOutput(shell_id=shell_id, stdout="", stderr="", running=True)

    def kill_background(self, shell_id: str) -> bool:
        return shell_id == "bg_1"

    def list_background(self) -> list[BackgroundProcessInfo]:
        return [BackgroundProcessInfo("bg_1", "sleep 9", 7, True)]

    def kill_all_background(self) -> None: ...


def awaited(backend: PlainBackend) -> Any:
    """The same backend with async methods."""

    def later(name: str) -> Any:
        async def method(*args: Any, **kwargs: Any) -> Any:
            return getattr(backend, name)(*args, **kwargs)

        return method

    names = [name for name in dir(backend) if not name.startswith("_") and callable(getattr(backend, name))]
    methods = {name: staticmethod(later(name)) for name in names}
    named = {"work_dir": "/"} if hasattr(backend, "work_dir") else {}
    return type("Awaited", (), {**methods, **named})()
