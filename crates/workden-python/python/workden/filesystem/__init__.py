"""Host directories for an agent, each with limits, and tools for the files in them.

The names are those of pydantic-ai-filesystem-sandbox: change the import, and keep the program. A `Sandbox` defines the
accessible files; a `FileSystemToolset` offers them to a Pydantic AI agent, which is imported on first use of that
class.

```python
from workden.filesystem import PathConfig, Sandbox, SandboxConfig

sandbox = Sandbox(SandboxConfig(paths={
    "input": PathConfig(root="./input"),
    "output": PathConfig(root="./output", mode="rw"),
}))
assert sandbox.readable_roots == ["input", "output"]
assert sandbox.can_write("output/report.md") and not sandbox.can_write("input/report.md")
```
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from workden.filesystem import errors
from workden.filesystem.errors import *  # noqa: F403

if TYPE_CHECKING:
    from workden.filesystem.approval_toolset import ApprovableFileSystemToolset
    from workden.filesystem.config import Mount, PathConfig, RootSandboxConfig, SandboxConfig
    from workden.filesystem.results import DEFAULT_MAX_READ_CHARS, ReadResult
    from workden.filesystem.sandbox import Sandbox
    from workden.filesystem.toolset import FileSystemToolset

__all__ = [
    "DEFAULT_MAX_READ_CHARS",
    "ApprovableFileSystemToolset",
    "FileSystemToolset",
    "Mount",
    "PathConfig",
    "ReadResult",
    "RootSandboxConfig",
    "Sandbox",
    "SandboxConfig",
]
__all__ += errors.__all__

_MODULES = {
    "config": ("Mount", "PathConfig", "RootSandboxConfig", "SandboxConfig"),
    "results": ("DEFAULT_MAX_READ_CHARS", "ReadResult"),
    "sandbox": ("Sandbox",),
    "toolset": ("FileSystemToolset",),
    "approval_toolset": ("ApprovableFileSystemToolset",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    # Pydantic and Pydantic AI are slow to import, so they are loaded on first use.
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
