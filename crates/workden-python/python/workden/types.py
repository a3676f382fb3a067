"""What backends answer: plain dictionaries and small dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from workden._runtime_config import RuntimeConfig as RuntimeConfig

__all__ = [
    "BackgroundHandle",
    "BackgroundOutput",
    "BackgroundProcessInfo",
    "EditResult",
    "ExecuteResponse",
    "FileData",
    "FileInfo",
    "GrepMatch",
    "RuntimeConfig",
    "WriteResult",
]


class FileData(TypedDict):
    """A file of a `StateBackend`."""

    content: list[str]
    created_at: str
    modified_at: str


class FileInfo(TypedDict):
    """A file or a directory. The size of a directory is `None`."""

    name: str
    path: str
    is_dir: bool
    size: int | None


class GrepMatch(TypedDict):
    """A line that matched; the first line of a file has number 1."""

    path: str
    line_number: int
    line: str


@dataclass
class WriteResult:
    """What became of a write: the path of the file, or an error."""

    path: str | None = None
    error: str | None = None


@dataclass
class EditResult:
    """What became of an edit: the path of the file and how many places changed, or an error."""

    path: str | None = None
    error: str | None = None
    occurrences: int | None = None


@dataclass
class ExecuteResponse:
    """What became of a command."""

    output: str
    exit_code: int | None = None
    truncated: bool = False


@dataclass
class BackgroundHandle:
    """A command that was started in the background."""

    shell_id: str
    pid: int
    command: str


@dataclass
class BackgroundOutput:
    """What a command in the background has printed since it was last asked."""

    shell_id: str
    stdout: str
    stderr: str
    running: bool
    exit_code: int | None = None


@dataclass
class BackgroundProcessInfo:
    """How a command in the background is."""

    shell_id: str
    command: str
    pid: int
    running: bool
    exit_code: int | None = None


def __getattr__(name: str) -> object:
    # A pydantic model: pydantic is loaded when somebody wants it.
    if name == "RuntimeConfig":
        from workden._runtime_config import RuntimeConfig

        return RuntimeConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
