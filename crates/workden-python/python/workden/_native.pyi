"""The Rust extension module underneath every class of this package."""

from collections.abc import Awaitable, Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from workden.types import FileData, FileInfo, GrepMatch

__version__: str

Asks = Callable[[str], Any]
"""Receives a question (an approval request as JSON), and returns `True`, `False`, `(answer, note)` or `None`."""

Job = tuple[str, int, str, bool, int | None]
"""Id, pid, command, whether it is running, exit code."""

Content = tuple[str, str, str, bytes]
"""Content that accompanies a text: `image` or `document`, media type, name, bytes."""

class Failure(Exception):
    """An operation failed. `kind` is for code, `sentence` and `hint` are for readers."""

    kind: str
    sentence: str
    hint: str | None
    refusal: str | None

class NativeWorkspace:
    """A backend, with or without commands."""

    # Constructors

    @staticmethod
    def local(config: str, asks: Asks | None = None) -> NativeWorkspace: ...
    @staticmethod
    def state(files: dict[str, FileData], rules: str | None = None, asks: Asks | None = None) -> NativeWorkspace: ...
    @staticmethod
    def foreign(backend: object, rules: str | None = None, asks: Asks | None = None) -> NativeWorkspace: ...
    @staticmethod
    def composite(
        default: NativeWorkspace,
        routes: list[tuple[str, NativeWorkspace, str | None]],
        rules: str | None = None,
        asks: Asks | None = None,
    ) -> NativeWorkspace:
        """Combines workspaces. Each route has a prefix, a workspace, and, if that workspace sees paths without the
        prefix, where they start."""
    @staticmethod
    def mounts(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Mounts host directories, each with limits: the configuration of a filesystem sandbox, with `root`, `paths` or
        `mounts`, as JSON, and `base` for relative host paths."""
    @staticmethod
    def linux(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Creates a Linux sandbox, which starts on first use."""
    @staticmethod
    def docker(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Creates a container, which starts on first use."""
    @staticmethod
    def kubernetes(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Creates a pod, which starts on first use."""
    @staticmethod
    def daytona(config: str, status: DaytonaStatus, asks: Asks | None = None) -> NativeWorkspace:
        """Creates a sandbox at Daytona, which starts on first use."""
    @staticmethod
    def remote(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Creates or finds a session of a service, on first use."""
    @staticmethod
    def linux_attach(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Attaches to a Linux sandbox with a lease: `directory` is the directory of the lease, `work_dir` is where
        commands run, as JSON."""
    @staticmethod
    def docker_attach(config: str, asks: Asks | None = None) -> NativeWorkspace:
        """Attaches to an existing container: `container` is its name, `daemon` says how to reach its daemon, as
        JSON."""
    def guarded(self, rules: str, asks: Asks | None = None) -> NativeWorkspace:
        """Returns the same workspace behind additional rules."""
    def derive(self, config: str) -> NativeWorkspace:
        """Returns the same workspace restricted to some directories: `allow_read`, `allow_write`, `readonly`,
        `inherit`, as JSON."""
    def readable_roots(self) -> list[str]: ...
    def writable_roots(self) -> list[str]: ...
    def verdict(self, operation: str, path: str) -> tuple[str, str]:
        """Returns `allow`, `ask` or `deny` for `read`, `write`, `edit`, `delete` or `ls` of a path, and the reason."""
    def has_commands(self) -> bool: ...
    def tools(self, options: str) -> Tools: ...

    # Files

    def exists(self, path: str) -> bool: ...
    def ls(self, path: str) -> list[FileInfo]: ...
    def read(self, path: str, offset: int, limit: int) -> tuple[str, int, bool]: ...
    def read_chars(self, path: str, offset: int, limit: int) -> tuple[str, int, bool]:
        """Returns text from a character offset, the total number of characters, and whether more follows."""
    def read_bytes(self, path: str) -> bytes: ...
    def write(self, path: str, content: bytes) -> str: ...
    def edit(self, path: str, old: str, new: str, all: bool) -> int: ...
    def glob(self, pattern: str, path: str) -> list[FileInfo]: ...
    def grep(self, pattern: str, path: str, glob: str | None, ignore_hidden: bool) -> list[GrepMatch]: ...
    def list_dir(self, path: str) -> list[FileInfo]:
        """Like `ls`, but fails for a file."""
    def stat(self, path: str) -> FileInfo: ...
    def make_dir(self, path: str) -> None:
        """Creates a directory and its parents. It may exist already."""
    def remove(self, path: str, tree: bool) -> None: ...
    def rename(self, source: str, destination: str, replace: bool) -> None: ...
    def copy(self, source: str, destination: str, replace: bool) -> str: ...
    def realpath(self, path: str) -> str:
        """Returns the target of a path after following links. A missing rest stays as it is written."""

    # Commands

    def execute(self, command: str, timeout: float | None = None) -> tuple[str, int, bool, bool]: ...
    def run(
        self, argv: list[str] | None, line: str | None, env: dict[str, str], timeout: float | None, most: int
    ) -> tuple[int, bytes, bytes, bool, bool]:
        """Runs an argument list or a shell line with separate streams: exit code, stdout, stderr, whether it timed out,
        whether it was killed for printing more than `most` bytes."""
    def start_job(self, command: str) -> Job: ...
    def read_job(self, id: str, offset: int) -> tuple[str, int, Job]: ...
    def kill_job(self, id: str) -> bool: ...
    def jobs(self) -> list[Job]: ...
    def stop(self) -> None: ...
    def directory(self) -> str: ...
    def start(self) -> None: ...
    def end(self) -> None:
        """Ends the sandbox. A sandbox that this workspace started is started again on next use."""
    def is_alive(self) -> bool:
        """Whether the sandbox was started and is running."""
    def isolation(self) -> str:
        """Returns the isolation of commands, as JSON."""
    def usage(self) -> str:
        """Returns the resource usage of the sandbox, as JSON."""

    # Async versions of the same methods

    def exists_async(self, path: str) -> Awaitable[bool]: ...
    def ls_async(self, path: str) -> Awaitable[list[FileInfo]]: ...
    def read_async(self, path: str, offset: int, limit: int) -> Awaitable[tuple[str, int, bool]]: ...
    def read_chars_async(self, path: str, offset: int, limit: int) -> Awaitable[tuple[str, int, bool]]: ...
    def read_bytes_async(self, path: str) -> Awaitable[bytes]: ...
    def write_async(self, path: str, content: bytes) -> Awaitable[str]: ...
    def edit_async(self, path: str, old: str, new: str, all: bool) -> Awaitable[int]: ...
    def glob_async(self, pattern: str, path: str) -> Awaitable[list[FileInfo]]: ...
    def grep_async(self, pattern: str, path: str, glob: str | None, ignore_hidden: bool) -> Awaitable[list[GrepMatch]]: ...
    def list_dir_async(self, path: str) -> Awaitable[list[FileInfo]]: ...
    def stat_async(self, path: str) -> Awaitable[FileInfo]: ...
    def make_dir_async(self, path: str) -> Awaitable[None]: ...
    def remove_async(self, path: str, tree: bool) -> Awaitable[None]: ...
    def rename_async(self, source: str, destination: str, replace: bool) -> Awaitable[None]: ...
    def copy_async(self, source: str, destination: str, replace: bool) -> Awaitable[str]: ...
    def realpath_async(self, path: str) -> Awaitable[str]: ...
    def execute_async(self, command: str, timeout: float | None = None) -> Awaitable[tuple[str, int, bool, bool]]: ...
    def run_async(
        self, argv: list[str] | None, line: str | None, env: dict[str, str], timeout: float | None, most: int
    ) -> Awaitable[tuple[int, bytes, bytes, bool, bool]]: ...
    def start_job_async(self, command: str) -> Awaitable[Job]: ...
    def read_job_async(self, id: str, offset: int) -> Awaitable[tuple[str, int, Job]]: ...
    def kill_job_async(self, id: str) -> Awaitable[bool]: ...
    def jobs_async(self) -> Awaitable[list[Job]]: ...
    def stop_async(self) -> Awaitable[None]: ...
    def directory_async(self) -> Awaitable[str]: ...
    def start_async(self) -> Awaitable[None]: ...
    def end_async(self) -> Awaitable[None]: ...
    def is_alive_async(self) -> Awaitable[bool]: ...
    def isolation_async(self) -> Awaitable[str]: ...
    def usage_async(self) -> Awaitable[str]: ...

class DaytonaStatus:
    """What is known of a sandbox at Daytona once it has started."""

    def __init__(self) -> None: ...
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def mode(self) -> str | None: ...

class Tools:
    """The tools of a model over a workspace. They remember the files that the model has read."""

    def specs(self) -> str:
        """Returns the tools as JSON: name, description, schema of the arguments, annotations."""
    def prompt(self) -> str: ...
    def call(self, name: str, arguments: str, asks: Asks | None = None) -> tuple[str, list[Content], str | None]:
        """Calls a tool with JSON. Returns text for the model, accompanying content, and the structured result. A
        `Failure` is for the model, too."""
    def call_async(
        self, name: str, arguments: str, asks: Asks | None = None
    ) -> Awaitable[tuple[str, list[Content], str | None]]: ...

def builtin_runtimes() -> str:
    """Returns the built-in runtimes as JSON."""

def check_runtime(runtime: str) -> None:
    """Raises a `Failure` if a runtime, given as JSON, is invalid."""

def runtime_dockerfile(runtime: str) -> str | None: ...
def runtime_tag(runtime: str) -> str | None: ...
class Sessions:
    """Sandboxes of Python by session id. `driver` opens, checks and stops them, with methods that may be async."""

    def __new__(cls, driver: Any) -> Sessions: ...
    def get_or_create(self, id: str) -> Awaitable[Any]:
        """Returns the sandbox of a session, opened if there is none or if it is not alive."""

    def release(self, id: str) -> Awaitable[bool]:
        """Ends a session. Returns whether there was one."""

    def cleanup_idle(self, limits: dict[str, float]) -> Awaitable[int]:
        """Ends the sessions that were idle for longer than these seconds. Returns their number."""

    def ids(self) -> list[str]:
        """Returns the ids of all sessions, those included that are being opened."""

    def sandboxes(self) -> dict[str, Any]:
        """Returns the sandboxes of the sessions that are ready, by id."""

def check_session_id(id: str) -> None:
    """Raises a `Failure` for an invalid session id."""

def session_workspace(root: PathLike[str], id: str) -> Path:
    """Returns the directory for the files of a session, created if it is missing. Links below `root` are not
    followed."""

def check_toolchain(name: str) -> None:
    """Raises a `Failure` if the host does not have this toolchain."""

class Rules:
    def __init__(self, ruleset: str, surroundings: Literal["machine", "files"] = "machine") -> None: ...
    def check(self, operation: str, target: str) -> Literal["allow", "deny", "ask"]: ...
    def explain(self, operation: str, target: str) -> tuple[str, str | None, int | None, str]: ...

SECRETS_PATTERNS: list[str]
SYSTEM_PATTERNS: list[str]
DANGEROUS_COMMANDS: list[str]

def native_ruleset(ruleset: str, surroundings: Literal["machine", "files"] = "machine") -> str | None: ...
def line_hash(content: str) -> str: ...
def format_hashlines(content: str, offset: int, limit: int) -> str: ...
def apply_hashline(
    content: str,
    start_line: int,
    start_hash: str,
    new_content: str,
    end_line: int | None,
    end_hash: str | None,
    placement: Literal["replace", "insert_after"],
) -> tuple[str | None, str | None, str]: ...
