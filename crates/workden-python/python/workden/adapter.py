"""Async adapters for backends: native calls are awaited, other backends run in threads."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from workden._dual import is_native, run_async
from workden._event_loop import in_thread

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

__all__ = ["AsyncBackendAdapter", "AsyncBackgroundSandboxAdapter", "AsyncSandboxAdapter", "ensure_async"]


class AsyncBackendAdapter:
    """Makes the files of a synchronous backend awaitable.

    A workden backend is awaited natively: no thread is used, and cancelling the task cancels the operation. Any other
    backend is called in a thread.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def unwrap(self) -> Any:
        """Returns the wrapped backend."""
        return self._backend

    async def _call(self, method: str, *args: Any) -> Any:
        if is_native(self._backend, method):
            return await run_async(self._backend, method, *args)
        return await in_thread(getattr(self._backend, method), *args)

    async def exists(self, path: str) -> bool:
        """Whether a file exists."""
        return await self._call("exists", path)

    async def ls_info(self, path: str) -> list[FileInfo]:
        """Lists a directory."""
        return await self._call("ls_info", path)

    async def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file."""
        has_public = hasattr(self._backend, "read_bytes")
        return await self._call("read_bytes" if has_public else "_read_bytes", path)

    async def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Returns numbered lines."""
        return await self._call("read", path, offset, limit)

    async def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file."""
        return await self._call("write", path, content)

    async def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text in a file."""
        return await self._call("edit", path, old_string, new_string, replace_all)

    async def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files whose path matches."""
        return await self._call("glob_info", pattern, path)

    async def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Returns the matching lines."""
        return await self._call("grep_raw", pattern, path, glob, ignore_hidden)


class AsyncSandboxAdapter(AsyncBackendAdapter):
    """Adds commands. Cancelling one kills it, if the sandbox supports cancellation."""

    async def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell command."""
        cancellable = getattr(self._backend, "async_execute", None)
        if not is_native(self._backend, "execute") and inspect.iscoroutinefunction(cancellable):
            return await cancellable(command, timeout)
        return await self._call("execute", command, timeout)


class AsyncBackgroundSandboxAdapter(AsyncSandboxAdapter):
    """Adds background commands."""

    async def execute_background(self, command: str) -> BackgroundHandle:
        """Starts a command in the background."""
        return await self._call("execute_background", command)

    async def read_background(self, shell_id: str) -> BackgroundOutput:
        """Returns the output since the last call."""
        return await self._call("read_background", shell_id)

    async def kill_background(self, shell_id: str) -> bool:
        """Kills a background command."""
        return await self._call("kill_background", shell_id)

    async def list_background(self) -> list[BackgroundProcessInfo]:
        """Lists the background commands."""
        return await self._call("list_background")

    async def kill_all_background(self) -> None:
        """Kills all background commands."""
        await self._call("kill_all_background")


def ensure_async(backend: Any) -> Any:
    """Returns an awaitable version of a backend; the backend itself if it is async."""
    if isinstance(backend, AsyncBackendAdapter) or inspect.iscoroutinefunction(getattr(backend, "read_bytes", None)):
        return backend
    if hasattr(backend, "execute_background"):
        return AsyncBackgroundSandboxAdapter(backend)
    if hasattr(backend, "execute"):
        return AsyncSandboxAdapter(backend)
    return AsyncBackendAdapter(backend)
