"""Files in memory as a workspace. A `StateBackend` has no directories, so they are recorded here."""

from __future__ import annotations

import posixpath
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic_ai.workspaces import FileEntry, WorkspaceRef

from workden._workspace.backends import WorkspaceFiles
from workden._workspace.providers import StateProvider

if TYPE_CHECKING:
    from workden.backends.state import StateBackend

# By backend, so that all workspaces over the same files see the same directories.
_DIRECTORIES: weakref.WeakKeyDictionary[StateBackend, set[str]] = weakref.WeakKeyDictionary()


class WorkdenFilesWorkspaceBackend(WorkspaceFiles):
    """A workspace of files without commands: a `StateBackend`. Its `ref` is valid in this process only.

    ```python
    import asyncio
    from workden import StateBackend
    from workden.workspace import WorkdenFilesWorkspaceBackend

    state = StateBackend()
    asyncio.run(WorkdenFilesWorkspaceBackend(state).write_bytes("/notes.txt", b"mine"))
    assert state.read_bytes("/notes.txt") == b"mine"
    ```
    """

    def __init__(self, state: StateBackend | None = None, *, ref: WorkspaceRef | None = None) -> None:
        super().__init__(StateProvider(state), ref)

    async def _directories(self) -> set[str]:
        state, _ = await self._environment.opened()
        return _DIRECTORIES.setdefault(state, set())

    async def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file."""
        directories = await self._directories()
        try:
            return await super().read_bytes(path)
        except FileNotFoundError:
            if _plain(path) in directories:
                raise IsADirectoryError(path) from None
            raise

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Writes a file, and creates missing parent directories."""
        directories = await self._directories()
        if _plain(path) in directories:
            raise IsADirectoryError(path)
        await super().write_bytes(path, data)
        directories.update(_with_those_above(posixpath.dirname(_plain(path))))

    async def stat(self, path: str) -> FileEntry:
        """Returns a file or a directory."""
        try:
            return await super().stat(path)
        except FileNotFoundError:
            if _plain(path) not in await self._directories():
                raise
            return _directory(path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Lists a directory."""
        directories = await self._directories()
        try:
            found = list(await super().list_dir(path))
        except FileNotFoundError:
            if _plain(path) not in directories:
                raise
            found = []
        names = {entry.name for entry in found}
        empty = [name for above, name in map(posixpath.split, directories) if above == _plain(path) and name]
        return [*found, *(_directory(posixpath.join(path, name)) for name in sorted(empty) if name not in names)]

    async def make_dir(self, path: str) -> None:
        """Creates a directory and its parents."""
        await super().make_dir(path)
        (await self._directories()).update(_with_those_above(_plain(path)))

    async def remove(self, path: str) -> None:
        """Removes a file or a directory tree."""
        directories, plain = await self._directories(), _plain(path)
        gone = {one for one in directories if one == plain or one.startswith(f"{plain}/")}
        try:
            await super().remove(path)
        except FileNotFoundError:
            if not gone:
                raise
        directories -= gone


def _plain(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def _with_those_above(path: str) -> set[str]:
    return {path} if path == "/" else {path, *_with_those_above(posixpath.dirname(path))}


def _directory(path: str) -> FileEntry:
    return FileEntry(name=posixpath.basename(_plain(path)), path=path, is_dir=True, size=None)
