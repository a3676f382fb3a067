"""The backends of workspaces: files and paths, and commands where there are any."""

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
from workden._workspace.failures import of_call
from workden._workspace.grounds import DockerGround, Ground, LinuxGround
from workden._workspace.opening import Environment

if TYPE_CHECKING:
    from workden.types import FileInfo

# The most bytes that a command may print on both streams together, and how many of each are shown of more.
MOST_PRINTED = 10 * 1024 * 1024
_SHOWN = 64 * 1024
# Exit codes from here on are those of commands that somebody ended.
_SIGNALLED = 128


class WorkspaceFiles(WorkspaceBackend, SupportsFilesystem, SupportsRealpath):
    """Files of an environment, which is started or reached by the first call."""

    def __init__(self, ground: Ground, ref: WorkspaceRef | None) -> None:
        self._environment = Environment(ground, ref)

    @property
    def ref(self) -> WorkspaceRef | None:
        """What the environment is called: `None` until there is one, and then always the same."""
        return self._environment.ref

    async def working_dir(self) -> str:
        """Where relative paths start and commands run."""
        directory = await self._call("directory")
        directory = await self._call("realpath", directory)
        try:
            await self._call("stat", directory)
        except FileNotFoundError as error:
            raise WorkspaceUnavailableError(f"the working directory `{directory}` is gone") from error
        return directory

    async def read_bytes(self, path: str) -> bytes:
        """The content of a file."""
        return await self._call("read_bytes", _absolute(path))

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Writes a file, through links, and makes the directories on the way."""
        await self._call("write", _absolute(path), data)

    async def stat(self, path: str) -> FileEntry:
        """A file or a directory, a link being what it leads to."""
        return _entry(await self._call("stat", _absolute(path)), path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """What is in a directory."""
        found = await self._call("list_dir", _absolute(path))
        return [_entry(info, posixpath.join(path, info["name"])) for info in found]

    async def make_dir(self, path: str) -> None:
        """Makes a directory, with those on the way. One that is there is fine."""
        await self._call("make_dir", _absolute(path))

    async def remove(self, path: str) -> None:
        """Removes a file or a link, or a directory with all that is in it; never the working directory."""
        above, name = posixpath.split(_absolute(path).rstrip("/"))
        # A link is what is removed, wherever it leads; `.`, `..` and nothing are no names.
        is_name = name not in ("", ".", "..")
        target = posixpath.join(await self.realpath(above), name) if is_name else await self.realpath(path)
        directory = await self.working_dir()
        if posixpath.commonpath([directory, target]) == target:
            raise ValueError(f"cannot remove `{path}`: the working directory is in it")
        await self._call("remove", target, True)

    async def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        try:
            await self._call("stat", _absolute(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    async def realpath(self, path: str) -> str:
        """Where a path leads, through links. What is not there stays as it is written."""
        real = "/"
        ahead: list[str] = []
        for name in _absolute(path).split("/"):
            if name == "..":
                # It climbs from where the link in front of it leads.
                real = posixpath.dirname(await self._call("realpath", posixpath.join(real, *ahead)))
                ahead = []
            elif name not in ("", "."):
                ahead.append(name)
        return await self._call("realpath", posixpath.join(real, *ahead))

    async def destroy(self) -> None:
        """Ends the environment, with all that runs in it. Workspaces never do that by themselves."""
        await self._call("stop")

    async def _call(self, name: str, *arguments: Any) -> Any:
        place = await self._environment.place()
        try:
            return await getattr(place, f"{name}_async")(*arguments)
        except Failure as failure:
            raise of_call(failure, str(arguments[0]) if arguments else None) from failure


class WorkdenWorkspaceBackend(WorkspaceFiles, SupportsCommands):
    """A workspace in a sandbox: `LinuxSandbox`, or `DockerSandbox`, which `options` are for.

    It is made by the first call, or found again by its `ref`, from any process of this user. It ends when somebody
    ends it (`destroy`), or when nobody has been connected to it for `ttl` seconds.

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
        super().__init__(ground_of(on, options, ttl=ttl, leases=leases), ref)

    async def run(
        self,
        command: WorkspaceCommand,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Runs a program with its arguments, or a line of shell, to its end. Cancelling it ends all of it."""
        words, line = _form(command, is_line=shell)
        _check_time(timeout)
        code, output, errors, is_over, is_too_much = await self._call(
            "run", words, line, dict(env or {}), timeout, MOST_PRINTED
        )
        if is_over:
            raise WorkspaceTimeoutError(
                f"the command took longer than {timeout:g} s, and was ended",
                stdout=_text(output),
                stderr=_text(errors),
            )
        if is_too_much:
            raise WorkspaceOutputLimitError(
                f"the command printed more than {MOST_PRINTED} bytes, and was ended: let it write to a file",
                limit=MOST_PRINTED,
                stdout=_text(output[:_SHOWN]),
                stderr=_text(errors[:_SHOWN]),
            )
        if code >= _SIGNALLED:
            # Perhaps with everything around it: a sandbox that ends takes no more commands before it ends any.
            with contextlib.suppress(Failure, OSError):
                await self._call("run", ["true"], None, {}, timeout, MOST_PRINTED)
        return CommandResult(exit_code=code, stdout=_text(output), stderr=_text(errors))


def ground_of(
    on: Literal["linux", "docker"],
    options: Mapping[str, Any] | None,
    *,
    ttl: float,
    leases: str | os.PathLike[str] | None = None,
) -> Ground:
    """Where sandboxes of this kind come from."""
    if on == "linux":
        return LinuxGround(options or {}, ttl, leases)
    if on == "docker":
        return DockerGround(options or {}, ttl)
    raise ValueError(f"there are workspaces on `linux` and on `docker`, and none on `{on}`")


def _check_time(timeout: Any) -> None:
    if timeout is not None and not (isinstance(timeout, (int, float)) and 0 < timeout < math.inf):
        raise ValueError("a timeout is a number of seconds, more than none and less than forever")


def _form(command: WorkspaceCommand, *, is_line: bool) -> tuple[list[str] | None, str | None]:
    if isinstance(command, str):
        if not is_line:
            raise TypeError("a line of shell needs `shell=True`; without it a command is a list of words")
        return None, command
    if is_line:
        raise TypeError("with `shell=True` a command is one string")
    words: list[Any] = list(command)
    if not all(isinstance(word, str) for word in words):
        raise TypeError("each word of a command is a string")
    if not words:
        raise ValueError("a command has at least one word")
    return words, None


def _absolute(path: str) -> str:
    if not posixpath.isabs(path):
        raise ValueError(f"`{path}` is not an absolute path")
    return path


def _entry(info: FileInfo, path: str) -> FileEntry:
    return FileEntry(name=info["name"], path=path, is_dir=info["is_dir"], size=info["size"])


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", errors="replace")
