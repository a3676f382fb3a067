"""Files, search and a shell for an AI agent, under an enforced policy.

```python
from workden import StateBackend

backend = StateBackend()
backend.write("/app.py", "print('hello')")
assert backend.grep_raw("hello")[0]["path"] == "/app.py"
```

The names below are imported lazily, so that `import workden` stays cheap: neither pydantic nor Pydantic AI is loaded
before something needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workden._native import __version__ as __version__

if TYPE_CHECKING:
    from workden.adapter import (
        AsyncBackendAdapter as AsyncBackendAdapter,
    )
    from workden.adapter import (
        AsyncBackgroundSandboxAdapter as AsyncBackgroundSandboxAdapter,
    )
    from workden.adapter import (
        AsyncSandboxAdapter as AsyncSandboxAdapter,
    )
    from workden.adapter import (
        ensure_async as ensure_async,
    )
    from workden.backends.base import BaseSandbox as BaseSandbox
    from workden.backends.composite import (
        AsyncCompositeBackend as AsyncCompositeBackend,
    )
    from workden.backends.composite import (
        CompositeBackend as CompositeBackend,
    )
    from workden.backends.daytona import DaytonaSandbox as DaytonaSandbox
    from workden.backends.docker.runtimes import BUILTIN_RUNTIMES as BUILTIN_RUNTIMES
    from workden.backends.docker.runtimes import get_runtime as get_runtime
    from workden.backends.docker.sandbox import DockerSandbox as DockerSandbox
    from workden.backends.docker.session import SandboxFactory as SandboxFactory
    from workden.backends.docker.session import SessionManager as SessionManager
    from workden.backends.filesystem import FilesystemBackend as FilesystemBackend
    from workden.backends.kubernetes import KubernetesPodSandbox as KubernetesPodSandbox
    from workden.backends.linux import LinuxSandbox as LinuxSandbox
    from workden.backends.local import LocalBackend as LocalBackend
    from workden.backends.remote import RemoteSandbox as RemoteSandbox
    from workden.backends.sandbox import LocalSandbox as LocalSandbox
    from workden.backends.state import StateBackend as StateBackend
    from workden.capability import ConsoleCapability as ConsoleCapability
    from workden.hashline import (
        apply_hashline_edit as apply_hashline_edit,
    )
    from workden.hashline import (
        apply_hashline_edit_with_summary as apply_hashline_edit_with_summary,
    )
    from workden.hashline import (
        format_hashline_output as format_hashline_output,
    )
    from workden.hashline import (
        line_hash as line_hash,
    )
    from workden.permissions import (
        DEFAULT_RULESET as DEFAULT_RULESET,
    )
    from workden.permissions import (
        PERMISSIVE_RULESET as PERMISSIVE_RULESET,
    )
    from workden.permissions import (
        READONLY_RULESET as READONLY_RULESET,
    )
    from workden.permissions import (
        SECRETS_PATTERNS as SECRETS_PATTERNS,
    )
    from workden.permissions import (
        STRICT_RULESET as STRICT_RULESET,
    )
    from workden.permissions import (
        SYSTEM_PATTERNS as SYSTEM_PATTERNS,
    )
    from workden.permissions import (
        AskCallback as AskCallback,
    )
    from workden.permissions import (
        AskFallback as AskFallback,
    )
    from workden.permissions import (
        OperationPermissions as OperationPermissions,
    )
    from workden.permissions import (
        PermissionAction as PermissionAction,
    )
    from workden.permissions import (
        PermissionAskError as PermissionAskError,
    )
    from workden.permissions import (
        PermissionChecker as PermissionChecker,
    )
    from workden.permissions import (
        PermissionDeniedError as PermissionDeniedError,
    )
    from workden.permissions import (
        PermissionError as PermissionError,
    )
    from workden.permissions import (
        PermissionOperation as PermissionOperation,
    )
    from workden.permissions import (
        PermissionRule as PermissionRule,
    )
    from workden.permissions import (
        PermissionRuleset as PermissionRuleset,
    )
    from workden.permissions import (
        create_ruleset as create_ruleset,
    )
    from workden.protocol import (
        AsyncBackendProtocol as AsyncBackendProtocol,
    )
    from workden.protocol import (
        AsyncBackgroundSandboxProtocol as AsyncBackgroundSandboxProtocol,
    )
    from workden.protocol import (
        AsyncSandboxProtocol as AsyncSandboxProtocol,
    )
    from workden.protocol import (
        BackendProtocol as BackendProtocol,
    )
    from workden.protocol import (
        BackgroundSandboxProtocol as BackgroundSandboxProtocol,
    )
    from workden.protocol import (
        SandboxProtocol as SandboxProtocol,
    )
    from workden.toolsets.console import (
        DEFAULT_MAX_DOCUMENT_BYTES as DEFAULT_MAX_DOCUMENT_BYTES,
    )
    from workden.toolsets.console import (
        DEFAULT_MAX_IMAGE_BYTES as DEFAULT_MAX_IMAGE_BYTES,
    )
    from workden.toolsets.console import (
        DOCUMENT_EXTENSIONS as DOCUMENT_EXTENSIONS,
    )
    from workden.toolsets.console import (
        DOCUMENT_MEDIA_TYPES as DOCUMENT_MEDIA_TYPES,
    )
    from workden.toolsets.console import (
        EDIT_FILE_DESCRIPTION as EDIT_FILE_DESCRIPTION,
    )
    from workden.toolsets.console import (
        EXECUTE_DESCRIPTION as EXECUTE_DESCRIPTION,
    )
    from workden.toolsets.console import (
        GLOB_DESCRIPTION as GLOB_DESCRIPTION,
    )
    from workden.toolsets.console import (
        GREP_DESCRIPTION as GREP_DESCRIPTION,
    )
    from workden.toolsets.console import (
        HASHLINE_CONSOLE_PROMPT as HASHLINE_CONSOLE_PROMPT,
    )
    from workden.toolsets.console import (
        HASHLINE_EDIT_DESCRIPTION as HASHLINE_EDIT_DESCRIPTION,
    )
    from workden.toolsets.console import (
        HASHLINE_READ_FILE_DESCRIPTION as HASHLINE_READ_FILE_DESCRIPTION,
    )
    from workden.toolsets.console import (
        IMAGE_EXTENSIONS as IMAGE_EXTENSIONS,
    )
    from workden.toolsets.console import (
        IMAGE_MEDIA_TYPES as IMAGE_MEDIA_TYPES,
    )
    from workden.toolsets.console import (
        LS_DESCRIPTION as LS_DESCRIPTION,
    )
    from workden.toolsets.console import (
        READ_FILE_DESCRIPTION as READ_FILE_DESCRIPTION,
    )
    from workden.toolsets.console import (
        WRITE_FILE_DESCRIPTION as WRITE_FILE_DESCRIPTION,
    )
    from workden.toolsets.console import (
        ConsoleDeps as ConsoleDeps,
    )
    from workden.toolsets.console import (
        ConsoleToolset as ConsoleToolset,
    )
    from workden.toolsets.console import (
        EditFormat as EditFormat,
    )
    from workden.toolsets.console import (
        create_console_toolset as create_console_toolset,
    )
    from workden.toolsets.console import (
        get_console_system_prompt as get_console_system_prompt,
    )
    from workden.types import (
        BackgroundHandle as BackgroundHandle,
    )
    from workden.types import (
        BackgroundOutput as BackgroundOutput,
    )
    from workden.types import (
        BackgroundProcessInfo as BackgroundProcessInfo,
    )
    from workden.types import (
        EditResult as EditResult,
    )
    from workden.types import (
        ExecuteResponse as ExecuteResponse,
    )
    from workden.types import (
        FileData as FileData,
    )
    from workden.types import (
        FileInfo as FileInfo,
    )
    from workden.types import (
        GrepMatch as GrepMatch,
    )
    from workden.types import (
        RuntimeConfig as RuntimeConfig,
    )
    from workden.types import (
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
    "workden.backends.daytona": "DaytonaSandbox",
    "workden.backends.kubernetes": "KubernetesPodSandbox",
    "workden.backends.linux": "LinuxSandbox",
    "workden.backends.remote": "RemoteSandbox",
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
"""The module of each name."""

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
    "DaytonaSandbox",
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
    "KubernetesPodSandbox",
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
    "RemoteSandbox",
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


if not TYPE_CHECKING:  # A type checker must report names that do not exist.

    def __getattr__(name: str) -> object:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(module), name)
        globals()[name] = found  # Later lookups find the name without calling `__getattr__`.
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
