"""`ConsoleCapability`: the console as a capability of a Pydantic AI agent.

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

from workden._place_of import place_of
from workden import _rules
from workden.toolsets import _extra, _texts
from workden.toolsets._media import DEFAULT_MAX_DOCUMENT_BYTES, DEFAULT_MAX_IMAGE_BYTES
from workden.toolsets._texts import EditFormat
from workden.toolsets.console import create_console_toolset

try:
    from pydantic_ai.capabilities import AbstractCapability
except ImportError as error:
    raise _extra.missing(error) from error

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset

    from workden.permissions import AskCallback, AskFallback
    from workden.protocol import AsyncBackendProtocol, BackendProtocol
    from workden._rules import Permissions

__all__ = ["ConsoleCapability"]


@dataclass
class ConsoleCapability(AbstractCapability[Any]):
    """Tools for files, search and commands, with the instructions for them and the rules that hold.

    Tools that the rules deny everywhere are hidden; in all others the rules hold for each path. Without
    `permissions` there are no rules but those of the backend.
    """

    include_execute: bool = True
    """Whether commands are offered, where the backend runs some."""
    edit_format: EditFormat = "str_replace"
    """How files are edited."""
    permissions: Permissions | None = None
    """Rules: a ruleset, the same as a dictionary, or the name of a preset (`readonly`)."""
    backend: BackendProtocol | AsyncBackendProtocol | str | os.PathLike[str] | None = None
    """Where to work; a directory is a `LocalBackend` of it. Without one it is `ctx.deps.backend`."""
    image_support: bool = False
    """Whether the model takes images."""
    document_support: bool = False
    """Whether the model takes documents (PDF). If not, it gets their text."""
    ask_callback: AskCallback | None = None
    """Who is asked about what has to be approved, in place of the backend's own."""
    ask_fallback: AskFallback = "error"
    """With `deny`, nobody is asked at the terminal. An agent's run goes on in any case: a refusal is an answer."""
    descriptions: Mapping[str, str] | None = None
    """Descriptions of tools in place of ours, by tool."""
    _: KW_ONLY
    include_background: bool = True
    """Whether commands in the background are offered, where commands are."""
    require_write_approval: bool = False
    """Whether writes and edits have to be approved. With `permissions` it means nothing."""
    require_execute_approval: bool = False
    """Whether commands have to be approved. With `permissions` it means nothing."""
    default_ignore_hidden: bool = True
    """Whether `grep` passes over hidden files unless a call says otherwise."""
    max_retries: int = 1
    """How often in a row the model may try a tool again."""
    max_image_bytes: int = DEFAULT_MAX_IMAGE_BYTES
    """The most bytes of an image."""
    max_document_bytes: int = DEFAULT_MAX_DOCUMENT_BYTES
    """The most bytes of a document that is shown as it is."""
    extra_tools: Sequence[str] = ()
    """Further tools: `delete_file`, `move_file`, `copy_file`, `list_files`, `multi_edit`."""
    deferred_approvals: bool | None = None
    """Whether runs may end with questions, if the agent's `output_type` does not say it."""
    _toolset: FunctionToolset[Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.backend, (str, os.PathLike)):
            from workden.backends.local import LocalBackend

            self.backend = LocalBackend(root_dir=self.backend)
        if self.permissions is not None:
            self.permissions = _rules.ruleset(self.permissions)
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
        )

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """What an `AgentSpec` calls it."""
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
        id: str | None = None,
        description: str | None = None,
        defer_loading: bool = False,
    ) -> ConsoleCapability:
        """From an `AgentSpec`: `permissions` is a dictionary or the name of a preset, `backend` a directory."""
        given = {name: value for name, value in locals().items() if name not in ("cls", "extra_tools")}
        return cls(**given, extra_tools=extra_tools or ())

    def get_toolset(self) -> FunctionToolset[Any]:
        """The tools."""
        return self._toolset

    def get_instructions(self) -> str:
        """What a model is told about the tools at the beginning: nothing of those that are not there."""
        options = {
            "include_execute": self.include_execute,
            "include_background": self.include_background,
            "edit_format": self.edit_format,
            "extra_tools": list(self.extra_tools),
        }
        # Which backend the dependencies have is not known here: then it may have everything.
        place = _texts.anywhere() if self.backend is None else place_of(self.backend)
        return _texts.tools_over(place, options, _rules.rules_of(self.permissions)).prompt()
