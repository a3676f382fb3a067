"""`LocalBackend`: host directories under their own names, with the host's shell or a sandbox."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workden import _host_notice, _messages
from workden._ask_callbacks import native_callback
from workden._commands import NativeCommands
from workden._dual import Steps, dual_method
from workden._files import NativeFiles
from workden._native import Failure, NativeWorkspace
from workden._options import as_list
from workden._program import program
from workden._refusals import OnDenied, checked, raise_refusal
from workden._rules import Permissions, ruleset

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback, PermissionChecker, PermissionRuleset
    from workden.types import ExecuteResponse

__all__ = ["DEFAULT_READ_LIMIT", "GREP_SKIP_DIRS", "MAX_EXECUTE_OUTPUT", "MAX_READ_OUTPUT", "LocalBackend"]

MAX_EXECUTE_OUTPUT = 100_000
"""Maximum number of characters of a command's output."""
MAX_READ_OUTPUT = 200_000
"""Maximum number of characters that `read` returns."""
DEFAULT_READ_LIMIT = 2000
"""Default number of lines that `read` returns."""
GREP_SKIP_DIRS = frozenset(
    ".git node_modules __pycache__ .venv venv .mypy_cache .pytest_cache .ruff_cache .tox dist build .eggs".split()
)
"""Generated and installed directories. Searches skip hidden files and files that git ignores."""


_DISABLED = "Shell execution is disabled for this backend. Initialize with enable_execute=True to enable."


class LocalBackend(NativeFiles, NativeCommands):
    """Files in directories of this machine, and commands.

    Relative paths start at `root_dir`; absolute paths are host paths inside `allowed_directories`. Commands run on the
    host with the rights of this process, which the logger `workden` says once. With `isolation="linux"` they run in a
    sandbox that contains only the host's programs and these directories.

    ```python
    from workden import LocalBackend

    with LocalBackend(root_dir="./workspace") as backend:
        backend.write("hello.py", "print(6 * 7)")
        assert backend.execute("python3 hello.py").output == "42\\n"
    ```
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str] | None = None,
        allowed_directories: Sequence[str | os.PathLike[str]] | None = None,
        enable_execute: bool = True,
        sandbox_id: str | None = None,
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        *,
        on_denied: OnDenied = "answer",
        isolation: Literal["linux"] | None = None,
        env: Sequence[str] | Literal["all"] = "all",
        toolchains: Sequence[str] = (),
        durable: bool = False,
    ) -> None:
        """Configures the backend.

        - `root_dir`: the directory in which relative paths and commands start; created if it is missing. By default:
          the first of `allowed_directories`, or the current directory.
        - `allowed_directories`: directories that absolute paths may lead to. By default: `root_dir`. They apply to
          files: commands on the host have the rights of this process.
        - `enable_execute`: whether commands are enabled.
        - `sandbox_id`: the id of the backend (`id`).
        - `permissions`: a ruleset, an equivalent dictionary, or the name of a preset (`"readonly"`).
        - `ask_callback`: answers approval questions: `(operation, target, reason)`, sync or async.
        - `ask_fallback`: without a callback, a call that requires approval raises (`"error"`) or is denied (`"deny"`).
        - `on_denied`: a call that is denied returns its error (`"answer"`), or raises `PermissionError` (`"raise"`).
        - `isolation`: `"linux"` runs commands in a sandbox around the same directories.
        - `env`: names of the variables of this process that commands see. By default: all on the host.
        - `toolchains`: any of `"python"`, `"node"`, `"rust"` and `"go"`, for commands in a sandbox, in addition to the
          programs in `/usr`.
        - `durable`: whether a write is on disk when it returns.
        """
        if isolation not in (None, "linux"):
            raise ValueError(f'invalid isolation {isolation!r}: use "linux" or None; for containers, use DockerSandbox')
        allowed = None if allowed_directories is None else as_list("allowed_directories", allowed_directories)
        root = Path(root_dir or (allowed[0] if allowed else os.getcwd())).absolute()
        directories = [Path(directory).absolute() for directory in ([root] if allowed is None else allowed)]
        for directory in [root, *directories]:
            directory.mkdir(parents=True, exist_ok=True)
        self._id = sandbox_id or str(uuid.uuid4())
        self._root = root.resolve()
        self._allowed = [directory.resolve() for directory in directories]
        self._enabled = enable_execute
        self._permissions = None if permissions is None else ruleset(permissions)
        self._ask_callback = ask_callback
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._checker: PermissionChecker | None = None
        config: dict[str, Any] = {
            "root": str(root),
            "directories": [str(directory) for directory in directories],
            "commands": "none" if not enable_execute else isolation or "host",
            "keeper": program(),
            "durable": durable,
            "toolchains": as_list("toolchains", toolchains),
            "pass_variables": _passed(env, isolation),
        }
        if self._permissions is not None:
            config["rules"] = self._permissions.model_dump_json()
        with _messages.builtin_exceptions():
            self._native = NativeWorkspace.local(json.dumps(config), native_callback(ask_callback))
        self._reset_background()
        if config["commands"] == "host" and not _host_notice.is_given() and self._may_run_commands():
            _host_notice.give()

    def _may_run_commands(self) -> bool:
        checker = self.permission_checker
        return checker is None or not checker._denies_all("execute")

    @dual_method
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a shell command until it exits, or for `timeout` seconds (default: 120)."""
        if not self._enabled:
            raise RuntimeError(_DISABLED)
        return (yield from NativeCommands.execute.steps(self, command, timeout))  # type: ignore[attr-defined]

    @property
    def id(self) -> str:
        """The id of this backend."""
        return self._id

    @property
    def root_dir(self) -> Path:
        """The directory in which relative paths and commands start."""
        return self._root

    @property
    def allowed_directories(self) -> list[Path]:
        """The directories that may be used."""
        return list(self._allowed)

    @property
    def execute_enabled(self) -> bool:
        """Whether commands are enabled."""
        return self._enabled

    @property
    def permissions(self) -> PermissionRuleset | None:
        """The given ruleset."""
        return self._permissions

    @property
    def permission_checker(self) -> PermissionChecker | None:
        """A checker for the given ruleset."""
        if self._checker is None and self._permissions is not None:
            from workden.permissions import PermissionChecker

            self._checker = PermissionChecker(self._permissions, self._ask_callback, self._ask_fallback)
        return self._checker

    def _refused(self, failure: Failure) -> None:
        raise_refusal(failure, self._ask_fallback, self._on_denied)

    def close(self) -> None:
        """Kills all background commands."""
        self._native.stop()

    def __enter__(self) -> LocalBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> LocalBackend:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._native.stop_async()


def _passed(env: Sequence[str] | Literal["all"], isolation: str | None) -> list[str]:
    if env != "all":
        return as_list("env", env)
    # A sandbox gets only the variables that the caller named.
    return list(os.environ) if isolation is None else []
