"""`ConsoleCapability`: the console tools as a capability of a Pydantic AI agent.

```python
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from workden import LocalBackend
from workden.capability import ConsoleCapability

console = ConsoleCapability(backend=LocalBackend(root_dir="./workspace"), permissions="readonly")
agent = Agent(TestModel(call_tools=["ls"]), capabilities=[console])
assert "is empty" in agent.run_sync("What is there?").output
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from workden import _rules
from workden._native_workspaces import native_workspace_of
from workden._refusals import OnDenied
from workden.permissions import PermissionChecker
from workden.toolsets import _extra, _texts
from workden.toolsets._media import DEFAULT_MAX_DOCUMENT_BYTES, DEFAULT_MAX_IMAGE_BYTES
from workden.toolsets._texts import EditFormat
from workden.toolsets.console import create_console_toolset

try:
    from pydantic_ai.capabilities import AbstractCapability
except ImportError as error:
    raise _extra.missing(error) from error

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset, RunContext, ToolDefinition

    from workden._rules import Permissions
    from workden.permissions import AskCallback, AskFallback, PermissionOperation
    from workden.protocol import AsyncBackendProtocol, BackendProtocol

__all__ = ["ConsoleCapability"]

_OPERATIONS: dict[str, PermissionOperation] = {
    "ls": "ls",
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "hashline_edit": "edit",
    "glob": "glob",
    "grep": "grep",
    "execute": "execute",
    "run_in_background": "execute",
    "read_output": "execute",
    "kill_shell": "execute",
    "list_shells": "execute",
}
"""The operation that a tool needs."""


@dataclass
class ConsoleCapability(AbstractCapability[Any]):
    """Tools for files, search and commands, with their instructions and rules.

    Tools that the rules deny everywhere are hidden, also tools of the same names from other toolsets of the agent; for
    all others the rules are checked for each path. Without `permissions`, only the rules of the backend apply.
    """

    include_execute: bool = True
    """Whether to offer commands, if the backend supports them."""
    edit_format: EditFormat = "str_replace"
    """Which edit tool is offered."""
    permissions: Permissions | None = None
    """Rules: a ruleset, an equivalent dictionary, or the name of a preset (`readonly`)."""
    backend: BackendProtocol | AsyncBackendProtocol | str | os.PathLike[str] | None = None
    """Backend to work on; a directory becomes a `LocalBackend`. By default: `ctx.deps.backend`."""
    image_support: bool = False
    """Whether the model accepts images."""
    document_support: bool = False
    """Whether the model accepts documents (PDF). If not, `pdftotext` extracts their text in the sandbox."""
    ask_callback: AskCallback | None = None
    """Answers approval questions, instead of the callback of the backend."""
    ask_fallback: AskFallback = "error"
    """With `deny`, the terminal is not used for questions. In both cases a refusal is an answer, and the agent's run
    continues."""
    descriptions: Mapping[str, str] | None = None
    """Custom descriptions, by tool."""
    _: KW_ONLY
    include_background: bool = True
    """Whether to offer background commands along with commands."""
    require_write_approval: bool = False
    """Whether writes and edits require approval. Ignored with `permissions`."""
    require_execute_approval: bool = False
    """Whether commands require approval. Ignored with `permissions`."""
    default_ignore_hidden: bool = True
    """Whether `grep` skips hidden files by default."""
    max_retries: int = 1
    """How many times in a row the model may retry a tool."""
    max_image_bytes: int = DEFAULT_MAX_IMAGE_BYTES
    """Maximum size of an image in bytes."""
    max_document_bytes: int = DEFAULT_MAX_DOCUMENT_BYTES
    """Maximum size in bytes of a document that is passed on unchanged."""
    extra_tools: Sequence[str] = ()
    """Additional tools: `delete_file`, `move_file`, `copy_file`, `list_files`, `multi_edit`."""
    deferred_approvals: bool | None = None
    """Whether runs may end with approval questions. By default, the agent's `output_type` decides."""
    on_denied: OnDenied = "answer"
    """Whether a denied call is an answer to the model, or ends the run with a `PermissionError` (`raise`)."""
    _toolset: FunctionToolset[Any] = field(init=False, repr=False, compare=False)
    _hidden: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.backend, (str, os.PathLike)):
            from workden.backends.local import LocalBackend

            self.backend = LocalBackend(root_dir=self.backend)
        if self.permissions is not None:
            self.permissions = _rules.ruleset(self.permissions)
            checker = PermissionChecker(self.permissions)
            self._hidden = frozenset(tool for tool, operation in _OPERATIONS.items() if checker._denies_all(operation))
        self._toolset = create_console_toolset(
            id=self.id,
            include_execute=self.include_execute,
            include_background=self.include_background,
            require_write_approval=self.require_write_approval,
            require_execute_approval=self.require_execute_approval,
            default_ignore_hidden=self.default_ignore_hidden,
            permissions=self.permissions,
            max_retries=self.max_retries,
            image_support=self.image_support,
            max_image_bytes=self.max_image_bytes,
            document_support=self.document_support,
            max_document_bytes=self.max_document_bytes,
            edit_format=self.edit_format,
            descriptions=self.descriptions,
            backend=self.backend,
            ask_callback=self.ask_callback,
            ask_fallback=self.ask_fallback,
            extra_tools=self.extra_tools,
            deferred_approvals=self.deferred_approvals,
            on_denied=self.on_denied,
        )

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """The name of this capability in an `AgentSpec`."""
        return "ConsoleCapability"

    @classmethod
    def from_spec(
        cls,
        include_execute: bool = True,
        edit_format: Literal["str_replace", "hashline"] = "str_replace",
        permissions: dict[str, Any] | str | None = None,
        backend: str | None = None,
        image_support: bool = False,
        document_support: bool = False,
        ask_fallback: Literal["deny", "error"] = "error",
        descriptions: dict[str, str] | None = None,
        include_background: bool = True,
        require_write_approval: bool = False,
        require_execute_approval: bool = False,
        default_ignore_hidden: bool = True,
        max_retries: int = 1,
        max_image_bytes: int = DEFAULT_MAX_IMAGE_BYTES,
        max_document_bytes: int = DEFAULT_MAX_DOCUMENT_BYTES,
        extra_tools: list[str] | None = None,
        deferred_approvals: bool | None = None,
        on_denied: Literal["answer", "raise"] = "answer",
        id: str | None = None,
        description: str | None = None,
        defer_loading: bool = False,
    ) -> ConsoleCapability:
        """Creates the capability from an `AgentSpec`: `permissions` is a dictionary or the name of a preset, `backend`
        a directory."""
        given = {name: value for name, value in locals().items() if name not in ("cls", "extra_tools")}
        return cls(**given, extra_tools=extra_tools or ())

    def get_toolset(self) -> FunctionToolset[Any]:
        """Returns the tools."""
        return self._toolset

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Returns the tools without those that the rules deny everywhere. Tools of other names stay."""
        return [tool for tool in tool_defs if tool.name not in self._hidden]

    def get_instructions(self) -> str:
        """Returns the system prompt for the tools, limited to those that are offered."""
        options = {
            "include_execute": self.include_execute,
            "include_background": self.include_background,
            "edit_format": self.edit_format,
            "extra_tools": list(self.extra_tools),
        }
        # The backend of the dependencies is not known yet, so assume that it supports everything.
        workspace = _texts.unrestricted_workspace() if self.backend is None else native_workspace_of(self.backend)
        return _texts.tools_over(workspace, options, _rules.rules_of(self.permissions)).prompt()
