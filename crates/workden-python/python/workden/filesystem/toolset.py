"""`FileSystemToolset`: the files of a sandbox as tools of an agent."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Literal

from workden._await import in_thread
from workden._steps import awaited, is_native
from workden.filesystem._deciding import DECIDES
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

    from workden._native import Place
    from workden.filesystem._deciding import Decides
    from workden.filesystem._mounts import Asks

__all__ = ["DEFAULT_MAX_READ_CHARS", "FileSystemToolset", "ReadResult"]

_MENDABLE = (EditError, FileNotFoundError, IsADirectoryError, NotADirectoryError, FileExistsError, ValueError)
"""What a model can do better the next time."""
_MOST_CHARS = 200_000
"""An answer to a model has no more of a file than this, whatever it asks for."""


class FileSystemToolset(FileOperations, AbstractToolset[Any]):
    """Seven tools for the files of a sandbox: read, write, list, edit, delete, move and copy.

    In a run of an agent, what is refused or goes wrong is an answer, which the model reads; a mistake that it can mend
    is a retry, as long as it has one. Called directly, the methods raise.

    Nothing is approved by anybody here: for that, there are `ApprovableFileSystemToolset` and `ApprovalToolset`.

    ```python
    from workden.filesystem import FileSystemToolset

    toolset = FileSystemToolset.create_default("./data")
    assert toolset.write("data/a.txt", "hello") == "Written 5 characters to data/a.txt"
    assert toolset.read("data/a.txt").content == "hello"
    ```
    """

    def __init__(self, sandbox: Sandbox, id: str | None = None, max_retries: int = 1) -> None:
        self._sandbox = sandbox
        self._place: Place = sandbox._place
        self._id = id
        self._max_retries = max_retries

    @classmethod
    def create_default(
        cls, root: str | os.PathLike[str], mode: Literal["ro", "rw"] = "rw", id: str | None = None
    ) -> Self:
        """A toolset for one directory, which is called `data`."""
        return cls(Sandbox(SandboxConfig(paths={"data": PathConfig(root=os.fspath(root), mode=mode)})), id=id)

    @property
    def sandbox(self) -> Sandbox:
        """What may be used."""
        return self._sandbox

    @property
    def id(self) -> str | None:
        """What it is called among the toolsets of an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The seven tools."""
        return {name: self._tool(name, tool) for name, tool in TOOLS.items()}

    def _tool(self, name: str, tool: Tool) -> ToolsetTool[Any]:
        definition = ToolDefinition(name=name, description=tool.description, parameters_json_schema=tool.schema())
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=self._max_retries, args_validator=AnyArguments()
        )

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """What a tool answers: its result, or a sentence that says why there is none."""
        return await self._answered(self, name, tool_args, ctx)

    async def call_tool_asking(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any], decides: Decides
    ) -> Any:
        """The same for a call that somebody has to approve.

        Whoever decides is asked when nothing else stands in the way, and is shown what would change. What was looked
        at then is what is changed, or nothing is.
        """
        if name not in TOOLS or name == "list_files" or not is_native(self, TOOLS[name].method):
            # The native half does not ask about these.
            approved, note = await decides(None)
            if not approved:
                return note or "It was not approved."
            return await self.call_tool(name, tool_args, ctx, tool)
        return await self._decided("everywhere", name, tool_args, ctx, decides)

    async def _decided(
        self, asks: Asks, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], decides: Decides
    ) -> Any:
        asking = copy.copy(self)
        asking._place = self._sandbox._asking(asks)
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
                return await awaited(doing, tool.method, **arguments)
            # A subclass has its own.
            return await in_thread(getattr(doing, tool.method), **arguments)
        except _MENDABLE as mistake:
            if ctx is not None and ctx.retry < ctx.max_retries:
                raise ModelRetry(str(mistake)) from mistake
            return str(mistake)
        except (SandboxError, OSError) as refusal:
            return str(refusal)
