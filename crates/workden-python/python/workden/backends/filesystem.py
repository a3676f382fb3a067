"""`FilesystemBackend`: a host directory as the root of a virtual tree."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from workden._dual import with_steps
from workden._files import NativeFiles
from workden._native import NativeWorkspace

if TYPE_CHECKING:
    from workden.types import FileInfo

__all__ = ["FilesystemBackend"]


class FilesystemBackend(NativeFiles):
    """A directory as `/`: `/data/x` is `data/x` inside it, and no path leads out.

    ```python
    from workden import FilesystemBackend

    backend = FilesystemBackend("./workspace", virtual_mode=True)
    assert backend.write("/data/x.txt", "here").path == "/data/x.txt"
    assert (backend.root_dir / "data/x.txt").read_text() == "here"
    ```
    """

    def __init__(self, root_dir: str | os.PathLike[str], virtual_mode: bool = False) -> None:
        root = Path(root_dir).absolute()
        if virtual_mode:
            root.mkdir(parents=True, exist_ok=True)
        elif not root.is_dir():
            raise ValueError(f"Root directory does not exist: {root}")
        self._root = root.resolve()
        mount = {"host_path": str(self._root), "mount_point": "/", "mode": "rw", "write_approval": False}
        self._native = NativeWorkspace.mounts(json.dumps({"base": "/", "mounts": [mount]}))

    @property
    def root_dir(self) -> Path:
        """The directory on the host."""
        return self._root

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files below `path` whose path matches, newest first."""
        return super().glob_info(pattern, path)

    with_steps(glob_info, NativeFiles.glob_info.steps)  # type: ignore[attr-defined]
