"""The console: tools for files, search and commands, for Pydantic AI agents.

```python
from dataclasses import dataclass

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from workden import StateBackend
from workden.toolsets.console import create_console_toolset

@dataclass
class Deps:
    backend: StateBackend

agent = Agent(TestModel(call_tools=["ls"]), deps_type=Deps, toolsets=[create_console_toolset()])
result = agent.run_sync("What is there?", deps=Deps(backend=StateBackend()))
assert "is empty" in result.output
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from workden._refusals import OnDenied, checked
from workden._rules import Permissions, rules_of
from workden.toolsets import _extra, _texts
from workden.toolsets._media import (
    DEFAULT_MAX_DOCUMENT_BYTES,
    DEFAULT_MAX_IMAGE_BYTES,
    DEFAULT_MAX_IMAGE_DIMENSION,
    DOCUMENT_EXTENSIONS,
    DOCUMENT_MEDIA_TYPES,
    IMAGE_EXTENSIONS,
    IMAGE_MEDIA_TYPES,
)
from workden.toolsets._texts import EditFormat

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset

    from workden.permissions import AskCallback, AskFallback
    from workden.protocol import AsyncBackendProtocol, BackendProtocol

    CONSOLE_SYSTEM_PROMPT: str
    HASHLINE_CONSOLE_PROMPT: str
    LS_DESCRIPTION: str
    READ_FILE_DESCRIPTION: str
    HASHLINE_READ_FILE_DESCRIPTION: str
    WRITE_FILE_DESCRIPTION: str
    EDIT_FILE_DESCRIPTION: str
    HASHLINE_EDIT_DESCRIPTION: str
    GLOB_DESCRIPTION: str
    GREP_DESCRIPTION: str
    EXECUTE_DESCRIPTION: str
    RUN_IN_BACKGROUND_DESCRIPTION: str
    READ_OUTPUT_DESCRIPTION: str
    KILL_SHELL_DESCRIPTION: str
    LIST_SHELLS_DESCRIPTION: str

__all__ = [
    "CONSOLE_SYSTEM_PROMPT",
    "DEFAULT_MAX_DOCUMENT_BYTES",
    "DEFAULT_MAX_IMAGE_BYTES",
    "DEFAULT_MAX_IMAGE_DIMENSION",
    "DOCUMENT_EXTENSIONS",
    "DOCUMENT_MEDIA_TYPES",
    "EDIT_FILE_DESCRIPTION",
    "EXECUTE_DESCRIPTION",
    "GLOB_DESCRIPTION",
    "GREP_DESCRIPTION",
    "HASHLINE_CONSOLE_PROMPT",
    "HASHLINE_EDIT_DESCRIPTION",
    "HASHLINE_READ_FILE_DESCRIPTION",
    "IMAGE_EXTENSIONS",
    "IMAGE_MEDIA_TYPES",
    "KILL_SHELL_DESCRIPTION",
    "LIST_SHELLS_DESCRIPTION",
    "LS_DESCRIPTION",
    "READ_FILE_DESCRIPTION",
    "READ_OUTPUT_DESCRIPTION",
    "RUN_IN_BACKGROUND_DESCRIPTION",
    "WRITE_FILE_DESCRIPTION",
    "ConsoleDeps",
    "ConsoleToolset",
    "EditFormat",
    "create_console_toolset",
    "get_console_system_prompt",
]


@runtime_checkable
class ConsoleDeps(Protocol):
    """Dependencies of an agent that provide the backend of the console."""

    @property
    def backend(self) -> BackendProtocol | AsyncBackendProtocol:
        """The backend of the tools."""
        ...


class _DefaultTrue(int):
    """A default `True`, distinguishable from an explicit one."""

    def __repr__(self) -> str:
        return "True"


_DEFAULT_TRUE: Any = _DefaultTrue(1)


def create_console_toolset(
    id: str | None = None,
    include_execute: bool = True,
    include_background: bool = True,
    require_write_approval: bool = False,
    require_execute_approval: bool = _DEFAULT_TRUE,
    default_ignore_hidden: bool = True,
    permissions: Permissions | None = None,
    max_retries: int = 1,
    image_support: bool = False,
    max_image_bytes: int = DEFAULT_MAX_IMAGE_BYTES,
    document_support: bool = False,
    max_document_bytes: int = DEFAULT_MAX_DOCUMENT_BYTES,
    edit_format: EditFormat = "str_replace",
    descriptions: Mapping[str, str] | None = None,
    *,
    backend: Any = None,
    ask_callback: AskCallback | None = None,
    ask_fallback: AskFallback = "error",
    extra_tools: Sequence[str] = (),
    deferred_approvals: bool | None = None,
    on_denied: OnDenied = "answer",
) -> FunctionToolset[Any]:
    """Creates tools for files, search and commands over `ctx.deps.backend`.

    A tool is offered if the backend supports it and the rules do not deny it everywhere. Mistakes that the model can
    fix are retries, `max_retries` times in a row; refusals are answers. A tool never ends the run, unless you set
    `on_denied="raise"`.

    Args:
        id: The id of the toolset.
        include_execute: Whether to offer commands, if the backend supports them.
        include_background: Whether to offer background commands, too.
        require_write_approval: Whether writes and edits require approval.
        require_execute_approval: Whether commands require approval. If set explicitly, commands are refused when no
            source can answer. By default, they ask if a source can answer, and run otherwise.
        default_ignore_hidden: Whether `grep` skips hidden files by default.
        permissions: Rules in addition to those of the backend, for every path in every tool. With rules,
            `require_write_approval` and `require_execute_approval` are ignored.
        max_retries: How many times in a row the model may retry a tool.
        image_support: Whether the model accepts images.
        max_image_bytes: Maximum size of an image in bytes.
        document_support: Whether the model accepts documents (PDF). If not, `pdftotext` extracts their
            text in the sandbox.
        max_document_bytes: Maximum size of a document in bytes; of a larger one the model gets the text.
        edit_format: Which edit tool is offered.
        descriptions: Custom descriptions, by tool.
        backend: The backend, instead of `ctx.deps.backend`.
        ask_callback: Answers approval questions, instead of the callback of the backend.
        ask_fallback: With `deny`, the terminal is not used for questions.
        extra_tools: Additional tools: `delete_file`, `move_file`, `copy_file`, `list_files`, `multi_edit`.
        deferred_approvals: Whether runs may end with approval questions. By default, they may if the agent's
            `output_type` includes `DeferredToolRequests`. Set it when `output_type` is passed to a run.
        on_denied: A denied call is an answer to the model (`"answer"`), or ends the run with a `PermissionError`
            (`"raise"`).
    """
    try:
        from workden.toolsets._toolset import Console
    except ImportError as error:
        raise _extra.missing(error) from error
    rules = rules_of(permissions)
    options: dict[str, Any] = {
        "include_execute": include_execute,
        "include_background": include_background,
        "ignore_hidden": default_ignore_hidden,
        "images": image_support,
        "max_image_bytes": max_image_bytes,
        "documents": document_support,
        "max_document_bytes": max_document_bytes,
        "edit_format": edit_format,
        "descriptions": dict(descriptions or {}),
        "retries": max_retries,
        "extra_tools": list(extra_tools),
        "write_approval": "always" if require_write_approval and rules is None else "as_policy",
    }
    console = Console(
        options,
        rules=rules,
        asks_for_commands=bool(require_execute_approval) and rules is None,
        insists=require_execute_approval is not _DEFAULT_TRUE,
        backend=backend,
        ask_callback=ask_callback,
        terminal=ask_fallback != "deny",
        deferred=deferred_approvals,
        on_denied=checked(on_denied),
    )
    return console.toolset(id, max_retries)


ConsoleToolset = create_console_toolset
"""The same function under the name of a class."""


def get_console_system_prompt(edit_format: EditFormat = "str_replace") -> str:
    """Returns the system prompt for these tools."""
    return _texts.prompt(edit_format)


def __getattr__(name: str) -> str:
    text = _texts.constant(name)
    if text is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return text
