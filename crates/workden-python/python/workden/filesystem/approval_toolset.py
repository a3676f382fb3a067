"""`ApprovableFileSystemToolset`: the same tools, with a check for required approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workden._dual import is_native
from workden.approval.types import ApprovalResult
from workden.filesystem._tools import TOOLS
from workden.filesystem.toolset import FileSystemToolset

if TYPE_CHECKING:
    from pydantic_ai.tools import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from workden.filesystem._decisions import Decides

__all__ = ["ApprovableFileSystemToolset"]

_READS = ("read_file", "edit_file", "copy_file", "move_file")
"""Tools that reveal the content of a file, or copy it to where it can be read."""


class ApprovableFileSystemToolset(FileSystemToolset):
    """A `FileSystemToolset` for `ApprovalToolset`, which asks as `read_approval` and `write_approval` require.

    ```python
    from workden.approval import ApprovalController, ApprovalToolset
    from workden.filesystem import ApprovableFileSystemToolset, PathConfig, Sandbox, SandboxConfig

    sandbox = Sandbox(SandboxConfig(paths={"output": PathConfig(root="./output", mode="rw")}))
    controller = ApprovalController(mode="strict")
    toolset = ApprovalToolset(
        inner=ApprovableFileSystemToolset(sandbox),
        approval_callback=controller.approval_callback,
        memory=controller.memory,
    )
    ```
    """

    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> ApprovalResult:
        """Whether a call requires approval, or is refused anyway."""
        if name not in TOOLS:
            return ApprovalResult.needs_approval()
        try:
            given = TOOLS[name].parsed(name, tool_args)
        except ValueError as complaint:
            return ApprovalResult.blocked(str(complaint))
        if name == "list_files":
            return ApprovalResult.pre_approved()
        if "path" in given:
            return self._asks(name, read={"Path": given["path"]}, write={"Path": given["path"]})
        source, destination = {"Source": given["source"]}, {"Destination": given["destination"]}
        return self._asks(name, read=source, write={**source, **destination} if name == "move_file" else destination)

    async def call_tool_unasked(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any], decides: Decides
    ) -> Any:
        """Calls a tool that was pre-approved.

        The path may have changed since the check, and may now lead to files that require approval: then it asks.
        """
        if name == "list_files" or not is_native(self, TOOLS[name].method):
            return await self.call_tool(name, tool_args, ctx, tool)
        return await self._decided("as_configured", name, tool_args, ctx, decides)

    def _asks(self, name: str, read: dict[str, str], write: dict[str, str]) -> ApprovalResult:
        if name == "read_file":
            write = {}
        if name not in _READS:
            read = {}
        sandbox, needed = self._sandbox, False
        for what, path in {**read, **write}.items():
            may_write, may_read = sandbox.can_write(path), sandbox.can_read(path)
            if (what in read and not may_read) or not (may_read or may_write):
                return ApprovalResult.blocked(f"{what} not in any sandbox: {path}")
            if what in write and not may_write:
                return ApprovalResult.blocked(f"{what} is read-only: {path}")
            needed = needed or (what in read and sandbox.needs_read_approval(path))
            needed = needed or (what in write and sandbox.needs_write_approval(path))
        return ApprovalResult.needs_approval() if needed else ApprovalResult.pre_approved()

    def get_approval_description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        """Describes a call for the approver."""
        shown = {key: str(value) for key, value in tool_args.items()}
        for key in ("path", "source", "destination"):
            shown[key] = self._sandbox._display(shown.get(key, "." if name == "list_files" else ""))
        path, source, destination = shown["path"], shown["source"], shown["destination"]
        chars = {key: len(shown.get(key, "")) for key in ("content", "old_text", "new_text")}
        return {
            "read_file": f"Read from {path}",
            "write_file": f"Write {chars['content']} chars to {path}",
            "edit_file": f"Edit {path}: replace {chars['old_text']} chars with {chars['new_text']} chars",
            "list_files": f"List files in {path} matching {shown.get('pattern', '**/*')}",
            "delete_file": f"Delete {path}",
            "move_file": f"Move {source} to {destination}",
            "copy_file": f"Copy {source} to {destination}",
        }.get(name, f"{name}({', '.join(f'{key}={value!r}' for key, value in tool_args.items())})")
