"""Results of backends: plain dictionaries and small dataclasses."""

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
    """A matching line. Line numbers start at 1."""

    path: str
    line_number: int
    line: str


@dataclass
class WriteResult:
    """Result of a write: the path of the file, or an error."""

    path: str | None = None
    error: str | None = None


@dataclass
class EditResult:
    """Result of an edit: the path of the file and the number of replacements, or an error."""

    path: str | None = None
    error: str | None = None
    occurrences: int | None = None


@dataclass
class ExecuteResponse:
    """Result of a command."""

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
    """Output of a background command since the last call."""

    shell_id: str
    stdout: str
    stderr: str
    running: bool
    exit_code: int | None = None


@dataclass
class BackgroundProcessInfo:
    """State of a background command."""

    shell_id: str
    command: str
    pid: int
    running: bool
    exit_code: int | None = None


def __getattr__(name: str) -> object:
    # A pydantic model: pydantic is loaded on first use.
    if name == "RuntimeConfig":
        from workden._runtime_config import RuntimeConfig

        return RuntimeConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
