"""`StateBackend`: files in memory, in a dictionary that the caller owns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workden._dual import with_steps
from workden._files import NativeFiles
from workden._native import Failure, NativeWorkspace
from workden.types import EditResult, WriteResult

if TYPE_CHECKING:
    from workden.types import FileData, FileInfo

__all__ = ["StateBackend"]


class StateBackend(NativeFiles):
    """Files in memory.

    They are in `files`, a dictionary that is never copied: changes through the backend and direct changes are both
    visible.

    ```python
    from workden import StateBackend

    backend = StateBackend()
    backend.write("/app.py", "print('hello')")
    assert backend.files["/app.py"]["content"] == ["print('hello')"]
    assert StateBackend.from_json(backend.to_json()).read("/app.py") == backend.read("/app.py")
    ```
    """

    def __init__(self, files: dict[str, FileData] | None = None) -> None:
        self._files: dict[str, FileData] = {} if files is None else files
        self._native = NativeWorkspace.state(self._files)

    @property
    def files(self) -> dict[str, FileData]:
        """All files by path. Always the same dictionary."""
        return self._files

    def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file atomically."""
        # A direct call is faster than running steps. A failure is repeated with steps, which produce its message.
        if type(path) is str and type(content) is str:
            try:
                return WriteResult(self._native.write(path, content.encode()))
            except (Failure, UnicodeEncodeError):
                pass
        return super().write(path, content)

    with_steps(write, NativeFiles.write.steps)  # type: ignore[attr-defined]

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text that occurs once, or every occurrence."""
        if type(path) is str:
            try:
                return EditResult(path, None, self._native.edit(path, old_string, new_string, replace_all))
            except (Failure, UnicodeEncodeError):
                pass
        return super().edit(path, old_string, new_string, replace_all)

    with_steps(edit, NativeFiles.edit.steps)  # type: ignore[attr-defined]

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files below `path` whose path matches, by path."""
        return super().glob_info(pattern, path)

    with_steps(glob_info, NativeFiles.glob_info.steps)  # type: ignore[attr-defined]

    def to_json(self) -> str:
        """Returns all files as JSON."""
        return json.dumps(self._files)

    @classmethod
    def from_json(cls, document: str) -> StateBackend:
        """Creates a backend with the files of such a document."""
        return cls(json.loads(document))

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self._files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["files"])
