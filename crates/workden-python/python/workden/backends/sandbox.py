"""`LocalSandbox`: a directory and the host's shell, under the name that older programs use."""

from __future__ import annotations

import os
from pathlib import Path

from workden.backends.local import LocalBackend

__all__ = ["LocalSandbox"]


class LocalSandbox(LocalBackend):
    """One directory and the host's shell: no isolation, for development."""

    def __init__(self, work_dir: str | os.PathLike[str] | None = None, sandbox_id: str | None = None) -> None:
        super().__init__(root_dir=work_dir, sandbox_id=sandbox_id)

    @property
    def work_dir(self) -> Path:
        """The directory in which relative paths and commands start."""
        return self.root_dir
