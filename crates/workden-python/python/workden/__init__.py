"""A place for an AI agent to work: files, search and a shell, under a policy that holds.

```python
from workden import StateBackend

backend = StateBackend()
backend.write("/app.py", "print('hello')")
assert backend.grep_raw("hello")[0]["path"] == "/app.py"
```

The names below are loaded when they are first used, so that this import costs next to nothing: neither pydantic nor
Pydantic AI is loaded before something needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workden._native import __version__ as __version__

if TYPE_CHECKING:
    from workden.adapter import (
        AsyncBackendAdapter as AsyncBackendAdapter,
        AsyncBackgroundSandboxAdapter as AsyncBackgroundSandboxAdapter,
        AsyncSandboxAdapter as AsyncSandboxAdapter,
        ensure_async as ensure_async,
    )
    from workden.backends.base import BaseSandbox as BaseSandbox
    from workden.backends.composite import (
        AsyncCompositeBackend as AsyncCompositeBackend,
        CompositeBackend as CompositeBackend,
    )
    from workden.backends.docker.runtimes import BUILTIN_RUNTIMES as BUILTIN_RUNTIMES, get_runtime as get_runtime
    from workden.backends.docker.sandbox import DockerSandbox as DockerSandbox
    from workden.backends.docker.session import SandboxFactory as SandboxFactory, SessionManager as SessionManager
    from workden.backends.filesystem import FilesystemBackend as FilesystemBackend
    from workden.backends.linux import LinuxSandbox as LinuxSandbox
    from workden.backends.local import LocalBackend as LocalBackend
    from workden.backends.sandbox import LocalSandbox as LocalSandbox
    from workden.backends.state import StateBackend as StateBackend
    from workden.capability import ConsoleCapability as ConsoleCapability
    from workden.hashline import (
        apply_hashline_edit as apply_hashline_edit,
        apply_hashline_edit_with_summary as apply_hashline_edit_with_summary,
        format_hashline_output as format_hashline_output,
        line_hash as line_hash,
    )
    from workden.permissions import (
        AskCallback as AskCallback,
        AskFallback as AskFallback,
        DEFAULT_RULESET as DEFAULT_RULESET,
        OperationPermissions as OperationPermissions,
        PERMISSIVE_RULESET as PERMISSIVE_RULESET,
        PermissionAction as PermissionAction,
        PermissionAskError as PermissionAskError,
        PermissionChecker as PermissionChecker,
        PermissionDeniedError as PermissionDeniedError,
        PermissionError as PermissionError,
        PermissionOperation as PermissionOperation,
        PermissionRule as PermissionRule,
        PermissionRuleset as PermissionRuleset,
        READONLY_RULESET as READONLY_RULESET,
        SECRETS_PATTERNS as SECRETS_PATTERNS,
        STRICT_RULESET as STRICT_RULESET,
        SYSTEM_PATTERNS as SYSTEM_PATTERNS,
        create_ruleset as create_ruleset,
    )
    from workden.protocol import (
        AsyncBackendProtocol as AsyncBackendProtocol,
        AsyncBackgroundSandboxProtocol as AsyncBackgroundSandboxProtocol,
        AsyncSandboxProtocol as AsyncSandboxProtocol,
        BackendProtocol as BackendProtocol,
        BackgroundSandboxProtocol as BackgroundSandboxProtocol,
        SandboxProtocol as SandboxProtocol,
    )
    from workden.toolsets.console import (
        ConsoleDeps as ConsoleDeps,
        ConsoleToolset as ConsoleToolset,
        DEFAULT_MAX_DOCUMENT_BYTES as DEFAULT_MAX_DOCUMENT_BYTES,
        DEFAULT_MAX_IMAGE_BYTES as DEFAULT_MAX_IMAGE_BYTES,
        DOCUMENT_EXTENSIONS as DOCUMENT_EXTENSIONS,
        DOCUMENT_MEDIA_TYPES as DOCUMENT_MEDIA_TYPES,
        EDIT_FILE_DESCRIPTION as EDIT_FILE_DESCRIPTION,
        EXECUTE_DESCRIPTION as EXECUTE_DESCRIPTION,
        EditFormat as EditFormat,
        GLOB_DESCRIPTION as GLOB_DESCRIPTION,
        GREP_DESCRIPTION as GREP_DESCRIPTION,
        HASHLINE_CONSOLE_PROMPT as HASHLINE_CONSOLE_PROMPT,
        HASHLINE_EDIT_DESCRIPTION as HASHLINE_EDIT_DESCRIPTION,
        HASHLINE_READ_FILE_DESCRIPTION as HASHLINE_READ_FILE_DESCRIPTION,
        IMAGE_EXTENSIONS as IMAGE_EXTENSIONS,
        IMAGE_MEDIA_TYPES as IMAGE_MEDIA_TYPES,
        LS_DESCRIPTION as LS_DESCRIPTION,
        READ_FILE_DESCRIPTION as READ_FILE_DESCRIPTION,
        WRITE_FILE_DESCRIPTION as WRITE_FILE_DESCRIPTION,
        create_console_toolset as create_console_toolset,
        get_console_system_prompt as get_console_system_prompt,
    )
    from workden.types import (
        BackgroundHandle as BackgroundHandle,
        BackgroundOutput as BackgroundOutput,
        BackgroundProcessInfo as BackgroundProcessInfo,
        EditResult as EditResult,
        ExecuteResponse as ExecuteResponse,
        FileData as FileData,
        FileInfo as FileInfo,
        GrepMatch as GrepMatch,
        RuntimeConfig as RuntimeConfig,
        WriteResult as WriteResult,
    )
    from workden.workspace import WorkdenWorkspace as WorkdenWorkspace

_WHERE = {
    "workden.protocol": (
        "BackendProtocol SandboxProtocol BackgroundSandboxProtocol AsyncBackendProtocol AsyncSandboxProtocol "
        "AsyncBackgroundSandboxProtocol"
    ),
    "workden.adapter": "AsyncBackendAdapter AsyncSandboxAdapter AsyncBackgroundSandboxAdapter ensure_async",
    "workden.types": (
        "FileData FileInfo WriteResult EditResult ExecuteResponse BackgroundHandle BackgroundOutput "
        "BackgroundProcessInfo GrepMatch RuntimeConfig"
    ),
    "workden.backends.state": "StateBackend",
    "workden.backends.local": "LocalBackend",
    "workden.backends.sandbox": "LocalSandbox",
    "workden.backends.filesystem": "FilesystemBackend",
    "workden.backends.composite": "CompositeBackend AsyncCompositeBackend",
    "workden.backends.base": "BaseSandbox",
    "workden.backends.linux": "LinuxSandbox",
    "workden.backends.docker.sandbox": "DockerSandbox",
    "workden.backends.docker.session": "SessionManager SandboxFactory",
    "workden.backends.docker.runtimes": "BUILTIN_RUNTIMES get_runtime",
    "workden.hashline": "line_hash format_hashline_output apply_hashline_edit apply_hashline_edit_with_summary",
    "workden.permissions": (
        "PermissionAction PermissionOperation PermissionRule OperationPermissions PermissionRuleset "
        "PermissionChecker PermissionAskError PermissionError PermissionDeniedError AskCallback AskFallback "
        "DEFAULT_RULESET PERMISSIVE_RULESET READONLY_RULESET STRICT_RULESET SECRETS_PATTERNS SYSTEM_PATTERNS "
        "create_ruleset"
    ),
    "workden.toolsets.console": (
        "create_console_toolset get_console_system_prompt ConsoleToolset ConsoleDeps EditFormat "
        "HASHLINE_CONSOLE_PROMPT LS_DESCRIPTION READ_FILE_DESCRIPTION HASHLINE_READ_FILE_DESCRIPTION "
        "WRITE_FILE_DESCRIPTION EDIT_FILE_DESCRIPTION HASHLINE_EDIT_DESCRIPTION GLOB_DESCRIPTION "
        "GREP_DESCRIPTION EXECUTE_DESCRIPTION IMAGE_EXTENSIONS IMAGE_MEDIA_TYPES DEFAULT_MAX_IMAGE_BYTES "
        "DOCUMENT_EXTENSIONS DOCUMENT_MEDIA_TYPES DEFAULT_MAX_DOCUMENT_BYTES"
    ),
    "workden.capability": "ConsoleCapability",
    "workden.workspace": "WorkdenWorkspace",
}
"""What is in which module."""

_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "AskCallback",
    "AskFallback",
    "AsyncBackendAdapter",
    "AsyncBackendProtocol",
    "AsyncBackgroundSandboxAdapter",
    "AsyncBackgroundSandboxProtocol",
    "AsyncCompositeBackend",
    "AsyncSandboxAdapter",
    "AsyncSandboxProtocol",
    "BUILTIN_RUNTIMES",
    "BackendProtocol",
    "BackgroundHandle",
    "BackgroundOutput",
    "BackgroundProcessInfo",
    "BackgroundSandboxProtocol",
    "BaseSandbox",
    "CompositeBackend",
    "ConsoleCapability",
    "ConsoleDeps",
    "ConsoleToolset",
    "DEFAULT_MAX_DOCUMENT_BYTES",
    "DEFAULT_MAX_IMAGE_BYTES",
    "DEFAULT_RULESET",
    "DOCUMENT_EXTENSIONS",
    "DOCUMENT_MEDIA_TYPES",
    "DockerSandbox",
    "EDIT_FILE_DESCRIPTION",
    "EXECUTE_DESCRIPTION",
    "EditFormat",
    "EditResult",
    "ExecuteResponse",
    "FileData",
    "FileInfo",
    "FilesystemBackend",
    "GLOB_DESCRIPTION",
    "GREP_DESCRIPTION",
    "GrepMatch",
    "HASHLINE_CONSOLE_PROMPT",
    "HASHLINE_EDIT_DESCRIPTION",
    "HASHLINE_READ_FILE_DESCRIPTION",
    "IMAGE_EXTENSIONS",
    "IMAGE_MEDIA_TYPES",
    "LS_DESCRIPTION",
    "LinuxSandbox",
    "LocalBackend",
    "LocalSandbox",
    "OperationPermissions",
    "PERMISSIVE_RULESET",
    "PermissionAction",
    "PermissionAskError",
    "PermissionChecker",
    "PermissionDeniedError",
    "PermissionError",
    "PermissionOperation",
    "PermissionRule",
    "PermissionRuleset",
    "READONLY_RULESET",
    "READ_FILE_DESCRIPTION",
    "RuntimeConfig",
    "SECRETS_PATTERNS",
    "STRICT_RULESET",
    "SYSTEM_PATTERNS",
    "SandboxFactory",
    "SandboxProtocol",
    "SessionManager",
    "StateBackend",
    "WRITE_FILE_DESCRIPTION",
    "WorkdenWorkspace",
    "WriteResult",
    "__version__",
    "apply_hashline_edit",
    "apply_hashline_edit_with_summary",
    "create_console_toolset",
    "create_ruleset",
    "ensure_async",
    "format_hashline_output",
    "get_console_system_prompt",
    "get_runtime",
    "line_hash",
]


if not TYPE_CHECKING:  # Who checks types is to find a name that is none.

    def __getattr__(name: str) -> object:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(module), name)
        globals()[name] = found  # The next one finds it without asking here.
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
