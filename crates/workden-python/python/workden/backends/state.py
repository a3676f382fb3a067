"""`StateBackend`: files in memory, in a dictionary that stays the caller's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workden._files import PlaceFiles
from workden._native import Place
from workden._steps import with_steps

if TYPE_CHECKING:
    from workden.types import FileData, FileInfo

__all__ = ["StateBackend"]


class StateBackend(PlaceFiles):
    """Files in memory.

    They are in `files`, a dictionary that is never copied: what the backend writes is in it, and what is put
    into it is in the backend.

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
        self._place = Place.state(self._files)

    @property
    def files(self) -> dict[str, FileData]:
        """All files by path. The same dictionary always."""
        return self._files

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Files below `path` whose path matches, by path."""
        return super().glob_info(pattern, path)

    with_steps(glob_info, PlaceFiles.glob_info.steps)  # type: ignore[attr-defined]

    def to_json(self) -> str:
        """All files as JSON."""
        return json.dumps(self._files)

    @classmethod
    def from_json(cls, document: str) -> StateBackend:
        """A backend with the files of such a document."""
        return cls(json.loads(document))

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self._files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["files"])
