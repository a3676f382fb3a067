"""Backends of workspaces: files and paths, and commands if the environment supports them."""

from __future__ import annotations

import contextlib
import math
import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.workspaces import (
    CommandResult,
    FileEntry,
    SupportsCommands,
    SupportsFilesystem,
    SupportsRealpath,
    WorkspaceBackend,
    WorkspaceCommand,
    WorkspaceOutputLimitError,
    WorkspaceRef,
    WorkspaceTimeoutError,
    WorkspaceUnavailableError,
)

from workden._native import Failure
from workden._workspace.environment import Environment
from workden._workspace.exceptions import call_exception
from workden._workspace.providers import DockerProvider, LinuxProvider, Provider

if TYPE_CHECKING:
    from workden.types import FileInfo

# Maximum output of a command on both streams together, and how many bytes of each stream an error quotes.
MAX_OUTPUT_BYTES = 10 * 1024 * 1024
_SHOWN = 64 * 1024
# Exit codes from here on mean that a signal ended the command.
_SIGNALLED = 128


class WorkspaceFiles(WorkspaceBackend, SupportsFilesystem, SupportsRealpath):
    """Files of an environment, which the first call starts or attaches to."""

    def __init__(self, provider: Provider, ref: WorkspaceRef | None) -> None:
        self._environment = Environment(provider, ref)

    @property
    def ref(self) -> WorkspaceRef | None:
        """The ref of the environment: `None` until it exists, constant afterwards."""
        return self._environment.ref

    async def working_dir(self) -> str:
        """Returns the directory in which relative paths and commands start."""
        directory = await self._call("directory")
        directory = await self._call("realpath", directory)
        try:
            await self._call("stat", directory)
        except FileNotFoundError as error:
            raise WorkspaceUnavailableError(f"the working directory `{directory}` no longer exists") from error
        return directory

    async def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file."""
        return await self._call("read_bytes", _absolute(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Writes a file, following links, and creates missing parent directories."""
        await self._call("write", _absolute(path), data)

    async def stat(self, path: str) -> FileEntry:
        """Returns a file or a directory, following links."""
        return _entry(await self._call("stat", _absolute(path)), path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Lists a directory."""
        found = await self._call("list_dir", _absolute(path))
        return [_entry(info, posixpath.join(path, info["name"])) for info in found]

    async def make_dir(self, path: str) -> None:
        """Creates a directory and its parents. It may exist already."""
        await self._call("make_dir", _absolute(path))

    async def remove(self, path: str) -> None:
        """Removes a file, a link, or a directory tree; never the working directory."""
        above, name = posixpath.split(_absolute(path).rstrip("/"))
        # Of a link, the link itself is removed. `.`, `..` and the empty string are not names.
        is_name = name not in ("", ".", "..")
        target = posixpath.join(await self.realpath(above), name) if is_name else await self.realpath(path)
        directory = await self.working_dir()
        if posixpath.commonpath([directory, target]) == target:
            raise ValueError(f"cannot remove `{path}`: it contains the working directory")
        await self._call("remove", target, True)

    async def exists(self, path: str) -> bool:
        """Whether a file or a directory exists."""
        try:
            await self._call("stat", _absolute(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    async def realpath(self, path: str) -> str:
        """Returns the target of a path after following links. A missing rest stays as it is written."""
        real = "/"
        ahead: list[str] = []
        for name in _absolute(path).split("/"):
            if name == "..":
                # `..` climbs from the target of the link before it.
                real = posixpath.dirname(await self._call("realpath", posixpath.join(real, *ahead)))
                ahead = []
            elif name not in ("", "."):
                ahead.append(name)
        return await self._call("realpath", posixpath.join(real, *ahead))

    async def destroy(self) -> None:
        """Ends the environment and its processes. Workspaces never do that by themselves."""
        await self._call("stop")

    async def _call(self, name: str, *arguments: Any) -> Any:
        native = await self._environment.native()
        try:
            return await getattr(native, f"{name}_async")(*arguments)
        except Failure as failure:
            raise call_exception(failure, str(arguments[0]) if arguments else None) from failure


class WorkdenWorkspaceBackend(WorkspaceFiles, SupportsCommands):
    """A workspace in a sandbox: `options` are the arguments of `LinuxSandbox` or `DockerSandbox`.

    The first call creates the sandbox, or attaches to it by `ref` from any process of this user. It ends on `destroy`,
    or after `ttl` seconds without a connected client.

    ```python
    import asyncio
    from workden.workspace import WorkdenWorkspaceBackend

    async def main() -> str:
        backend = WorkdenWorkspaceBackend("linux")
        ran = await backend.run("echo $((6 * 7))", shell=True)
        again = WorkdenWorkspaceBackend("linux", ref=backend.ref)
        await again.destroy()
        return ran.stdout

    assert asyncio.run(main()) == "42\\n"
    ```
    """

    def __init__(
        self,
        on: Literal["linux", "docker"] = "linux",
        options: Mapping[str, Any] | None = None,
        *,
        ref: WorkspaceRef | None = None,
        ttl: float = 3600,
        leases: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(provider_for(on, options, ttl=ttl, leases=leases), ref)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Runs a program with arguments, or a shell line, until it exits. Cancelling it kills the whole process
        tree."""
        words, line = _parse_command(command, is_line=shell)
        _check_time(timeout)
        code, output, errors, is_over, is_too_much = await self._call(
            "run", words, line, dict(env or {}), timeout, MAX_OUTPUT_BYTES
        )
        if is_over:
            raise WorkspaceTimeoutError(
                f"the command timed out after {timeout:g} s",
                stdout=_text(output),
                stderr=_text(errors),
            )
        if is_too_much:
            raise WorkspaceOutputLimitError(
                f"the command was killed after printing {MAX_OUTPUT_BYTES} bytes: redirect its output to a file",
                limit=MAX_OUTPUT_BYTES,
                stdout=_text(output[:_SHOWN]),
                stderr=_text(errors[:_SHOWN]),
            )
        if code >= _SIGNALLED:
            # The whole sandbox may be ending: it rejects new commands before it kills the running ones.
            with contextlib.suppress(Failure, OSError):
                await self._call("run", ["true"], None, {}, timeout, MAX_OUTPUT_BYTES)
        return CommandResult(exit_code=code, stdout=_text(output), stderr=_text(errors))


def provider_for(
    on: Literal["linux", "docker"],
    options: Mapping[str, Any] | None,
    *,
    ttl: float,
    leases: str | os.PathLike[str] | None = None,
) -> Provider:
    """Returns the provider for this kind of sandbox."""
    if on == "linux":
        return LinuxProvider(options or {}, ttl, leases)
    if on == "docker":
        return DockerProvider(options or {}, ttl)
    raise ValueError(f"unknown kind of workspace `{on}`: use `linux` or `docker`")


def _check_time(timeout: Any) -> None:
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 < timeout < math.inf):
        raise ValueError("invalid timeout: use a positive, finite number of seconds")


def _parse_command(command: WorkspaceCommand, *, is_line: bool) -> tuple[list[str] | None, str | None]:
    if isinstance(command, str):
        if not is_line:
            raise TypeError("a shell line requires `shell=True`; without it, pass a list of words")
        return None, command
    if is_line:
        raise TypeError("with `shell=True` the command must be a string")
    words: list[Any] = list(command)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("the words of a command must be strings")
    if not words:
        raise ValueError("the command is empty")
    return words, None


def _absolute(path: str) -> str:
    if not posixpath.isabs(path):
        raise ValueError(f"`{path}` is not an absolute path")
    return path


def _entry(info: FileInfo, path: str) -> FileEntry:
    return FileEntry(name=info["name"], path=path, is_dir=info["is_dir"], size=info["size"])


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", errors="replace")
