"""Protocols of backends: any object with these methods is a backend.

The checks at run time (`isinstance(thing, BackendProtocol)`) compare only the names of methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from workden.types import (
        BackgroundHandle,
        BackgroundOutput,
        BackgroundProcessInfo,
        EditResult,
        ExecuteResponse,
        FileInfo,
        GrepMatch,
        WriteResult,
    )

__all__ = [
    "AsyncBackendProtocol",
    "AsyncBackgroundSandboxProtocol",
    "AsyncSandboxProtocol",
    "BackendProtocol",
    "BackgroundSandboxProtocol",
    "SandboxProtocol",
]


@runtime_checkable
class BackendProtocol(Protocol):
    """A store of files.

    ```python
    from workden import BackendProtocol, StateBackend

    def words(backend: BackendProtocol, path: str) -> int:
        return len(backend.read_bytes(path).split())

    backend = StateBackend()
    backend.write("/poem.txt", "so much depends upon")
    assert words(backend, "/poem.txt") == 4
    ```
    """

    def exists(self, path: str) -> bool:
        """Whether a file exists. Returns `False` for directories, invalid paths and files that may not be read."""
        ...

    def ls_info(self, path: str) -> list[FileInfo]:
        """Lists a directory: directories first, then by name."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file; empty if it does not exist."""
        ...

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Returns numbered lines, starting `offset` lines into the file, or a text that starts with `Error: `."""
        ...

    def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file, and creates missing parent directories."""
        ...

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text that occurs once, or every occurrence."""
        ...

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files below `path` whose path matches."""
        ...

    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Returns the lines that match a regular expression, or an error message."""
        ...


@runtime_checkable
class SandboxProtocol(BackendProtocol, Protocol):
    """A backend that also runs commands."""

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell command until it exits, or for `timeout` seconds."""
        ...

    @property
    def id(self) -> str:
        """The id of this sandbox."""
        ...


@runtime_checkable
class BackgroundSandboxProtocol(SandboxProtocol, Protocol):
    """A sandbox that also runs commands in the background."""

    def execute_background(self, command: str) -> BackgroundHandle:
        """Starts a command without waiting for it."""
        ...

    def read_background(self, shell_id: str) -> BackgroundOutput:
        """Returns the output since the last call."""
        ...

    def kill_background(self, shell_id: str) -> bool:
        """Kills a background command and its children. Returns whether it was running."""
        ...

    def list_background(self) -> list[BackgroundProcessInfo]:
        """Lists the background commands."""
        ...

    def kill_all_background(self) -> None:
        """Kills all background commands."""
        ...


@runtime_checkable
class AsyncBackendProtocol(Protocol):
    """Async version of `BackendProtocol`."""

    async def exists(self, path: str) -> bool:
        """Whether a file exists."""
        ...

    async def ls_info(self, path: str) -> list[FileInfo]:
        """Lists a directory."""
        ...

    async def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file."""
        ...

    async def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Returns numbered lines."""
        ...

    async def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file."""
        ...

    async def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text in a file."""
        ...

    async def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files whose path matches."""
        ...

    async def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Returns the matching lines."""
        ...


@runtime_checkable
class AsyncSandboxProtocol(AsyncBackendProtocol, Protocol):
    """Async version of `SandboxProtocol`, without an `id`."""

    async def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell command."""
        ...


@runtime_checkable
class AsyncBackgroundSandboxProtocol(AsyncSandboxProtocol, Protocol):
    """Async version of `BackgroundSandboxProtocol`."""

    async def execute_background(self, command: str) -> BackgroundHandle:
        """Starts a command in the background."""
        ...

    async def read_background(self, shell_id: str) -> BackgroundOutput:
        """Returns the output since the last call."""
        ...

    async def kill_background(self, shell_id: str) -> bool:
        """Kills a background command."""
        ...

    async def list_background(self) -> list[BackgroundProcessInfo]:
        """Lists the background commands."""
        ...

    async def kill_all_background(self) -> None:
        """Kills all background commands."""
        ...
