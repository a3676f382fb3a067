"""`FileSystemToolset`: the files of a sandbox as tools of an agent."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Literal

from workden._dual import is_native, run_async
from workden._event_loop import in_thread
from workden.filesystem._decisions import DECIDES
from workden.filesystem._operations import FileOperations
from workden.filesystem._tools import TOOLS, AnyArguments, Tool
from workden.filesystem.config import PathConfig, SandboxConfig
from workden.filesystem.errors import EditError, SandboxError
from workden.filesystem.results import DEFAULT_MAX_READ_CHARS, ReadResult
from workden.filesystem.sandbox import Sandbox
from workden.toolsets import _extra

try:
    from pydantic_ai.exceptions import ModelRetry
    from pydantic_ai.tools import RunContext, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as error:
    raise _extra.missing(error) from error

if TYPE_CHECKING:
    from typing_extensions import Self

    from workden._native import NativeWorkspace
    from workden.filesystem._decisions import Decides
    from workden.filesystem._mounts import Asks

__all__ = ["DEFAULT_MAX_READ_CHARS", "FileSystemToolset", "ReadResult"]

_RETRYABLE = (EditError, FileNotFoundError, IsADirectoryError, NotADirectoryError, FileExistsError, ValueError)
"""Exceptions that a model can avoid with another call."""
_MOST_CHARS = 200_000
"""Maximum number of characters of a file in one answer to a model."""


class FileSystemToolset(FileOperations, AbstractToolset[Any]):
    """Seven tools for the files of a sandbox: read, write, list, edit, delete, move and copy.

    In an agent's run, refusals and failures are answers to the model; a mistake that it can fix is a retry, as long as
    one is left. Called directly, the methods raise.

    This toolset does not ask for approval: use `ApprovableFileSystemToolset` and `ApprovalToolset` for that.

    ```python
    from workden.filesystem import FileSystemToolset

    toolset = FileSystemToolset.create_default("./data")
    assert toolset.write("data/a.txt", "hello") == "Written 5 characters to data/a.txt"
    assert toolset.read("data/a.txt").content == "hello"
    ```
    """

    def __init__(self, sandbox: Sandbox, id: str | None = None, max_retries: int = 1) -> None:
        self._sandbox = sandbox
        self._native: NativeWorkspace = sandbox._native
        self._id = id
        self._max_retries = max_retries

    @classmethod
    def create_default(
        cls, root: str | os.PathLike[str], mode: Literal["ro", "rw"] = "rw", id: str | None = None
    ) -> Self:
        """Creates a toolset for one directory with the name `data`."""
        return cls(Sandbox(SandboxConfig(paths={"data": PathConfig(root=os.fspath(root), mode=mode)})), id=id)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of this toolset."""
        return self._sandbox

    @property
    def id(self) -> str | None:
        """The id of this toolset."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Returns the seven tools."""
        return {name: self._tool(name, tool) for name, tool in TOOLS.items()}

    def _tool(self, name: str, tool: Tool) -> ToolsetTool[Any]:
        definition = ToolDefinition(name=name, description=tool.description, parameters_json_schema=tool.schema())
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=self._max_retries, args_validator=AnyArguments()
        )

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Calls a tool. Returns its result, or a sentence with the reason for a failure."""
        return await self._answered(self, name, tool_args, ctx)

    async def call_tool_asking(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any], decides: Decides
    ) -> Any:
        """Calls a tool that requires approval.

        `decides` is called after all other checks have passed, with a preview of the change. The change is applied only
        if the files are still as previewed.
        """
        if name not in TOOLS or name == "list_files" or not is_native(self, TOOLS[name].method):
            # The native module does not ask about these.
            approved, note = await decides(None)
            if not approved:
                return note or "The call was not approved."
            return await self.call_tool(name, tool_args, ctx, tool)
        return await self._decided("everywhere", name, tool_args, ctx, decides)

    async def _decided(
        self, asks: Asks, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], decides: Decides
    ) -> Any:
        asking = copy.copy(self)
        asking._native = self._sandbox._asking_workspace(asks)
        asked = DECIDES.set(decides)
        try:
            return await self._answered(asking, name, tool_args, ctx)
        finally:
            DECIDES.reset(asked)

    async def _answered(
        self, doing: FileSystemToolset, name: str, given: dict[str, Any], ctx: RunContext[Any] | None
    ) -> Any:
        if name not in TOOLS:
            raise ValueError(f"Unknown tool: {name}")
        tool = TOOLS[name]
        try:
            arguments = tool.parsed(name, given)
            if name == "read_file":
                arguments["max_chars"] = min(arguments["max_chars"], _MOST_CHARS)
            if is_native(doing, tool.method):
                return await run_async(doing, tool.method, **arguments)
            # A subclass overrides the method.
            return await in_thread(getattr(doing, tool.method), **arguments)
        except _RETRYABLE as mistake:
            if ctx is not None and ctx.retry < ctx.max_retries:
                raise ModelRetry(str(mistake)) from mistake
            return str(mistake)
        except (SandboxError, OSError) as refusal:
            return str(refusal)
