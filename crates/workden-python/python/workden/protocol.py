"""What a backend is: anything that has these methods.

The checks at run time (`isinstance(thing, BackendProtocol)`) compare names of methods, nothing else.
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
    """A place that holds files.

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
        """Whether there is a file. Directories, bad paths and what may not be read are `False`."""
        ...

    def ls_info(self, path: str) -> list[FileInfo]:
        """What is in a directory: directories first, then by name."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; nothing if there is none."""
        ...

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Lines with their numbers, `offset` lines into the file; or a text that starts with `Error: `."""
        ...

    def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file, and makes the directories on the way."""
        ...

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text that is in the file once, or everywhere."""
        ...

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Files below `path` whose path matches."""
        ...

    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Lines that match a regular expression; or a text that says why there was no search."""
        ...


@runtime_checkable
class SandboxProtocol(BackendProtocol, Protocol):
    """A backend that also runs commands."""

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a line in a shell to its end, or until `timeout` seconds are over."""
        ...

    @property
    def id(self) -> str:
        """What this sandbox is called."""
        ...


@runtime_checkable
class BackgroundSandboxProtocol(SandboxProtocol, Protocol):
    """A sandbox that also runs commands in the background."""

    def execute_background(self, command: str) -> BackgroundHandle:
        """Starts a command, and does not wait for it."""
        ...

    def read_background(self, shell_id: str) -> BackgroundOutput:
        """What it has printed since the last time."""
        ...

    def kill_background(self, shell_id: str) -> bool:
        """Ends it, with all that it started. Whether it was running."""
        ...

    def list_background(self) -> list[BackgroundProcessInfo]:
        """All that were started."""
        ...

    def kill_all_background(self) -> None:
        """Ends all of them."""
        ...


@runtime_checkable
class AsyncBackendProtocol(Protocol):
    """The same as `BackendProtocol`, to be awaited."""

    async def exists(self, path: str) -> bool:
        """Whether there is a file."""
        ...

    async def ls_info(self, path: str) -> list[FileInfo]:
        """What is in a directory."""
        ...

    async def read_bytes(self, path: str) -> bytes:
        """The content of a file."""
        ...

    async def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Lines with their numbers."""
        ...

    async def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file."""
        ...

    async def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text in a file."""
        ...

    async def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Files whose path matches."""
        ...

    async def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Lines that match."""
        ...


@runtime_checkable
class AsyncSandboxProtocol(AsyncBackendProtocol, Protocol):
    """The same as `SandboxProtocol`, to be awaited, and without an `id`."""

    async def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a line in a shell."""
        ...


@runtime_checkable
class AsyncBackgroundSandboxProtocol(AsyncSandboxProtocol, Protocol):
    """The same as `BackgroundSandboxProtocol`, to be awaited."""

    async def execute_background(self, command: str) -> BackgroundHandle:
        """Starts a command in the background."""
        ...

    async def read_background(self, shell_id: str) -> BackgroundOutput:
        """What it has printed since the last time."""
        ...

    async def kill_background(self, shell_id: str) -> bool:
        """Ends it."""
        ...

    async def list_background(self) -> list[BackgroundProcessInfo]:
        """All that were started."""
        ...

    async def kill_all_background(self) -> None:
        """Ends all of them."""
        ...
