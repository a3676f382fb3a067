"""`LocalBackend`: host directories under their own names, and the host's shell or a sandbox around them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workden import _said
from workden._asking import asker
from workden._commands import PlaceCommands
from workden._files import PlaceFiles
from workden._native import Failure, Place
from workden._program import program
from workden._rules import Permissions, ruleset
from workden._shown import listed
from workden._steps import Steps, waits

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback, PermissionChecker, PermissionRuleset
    from workden.types import ExecuteResponse

__all__ = ["DEFAULT_READ_LIMIT", "GREP_SKIP_DIRS", "MAX_EXECUTE_OUTPUT", "MAX_READ_OUTPUT", "LocalBackend"]

MAX_EXECUTE_OUTPUT = 100_000
"""The most characters of a command's output that are returned."""
MAX_READ_OUTPUT = 200_000
"""The most characters that `read` returns."""
DEFAULT_READ_LIMIT = 2000
"""How many lines `read` returns if nothing is said."""
GREP_SKIP_DIRS = frozenset(
    ".git node_modules __pycache__ .venv venv .mypy_cache .pytest_cache .ruff_cache .tox dist build .eggs".split()
)
"""Directories with more than people write. A search skips what is hidden and what git ignores."""


_DISABLED = "Shell execution is disabled for this backend. Initialize with enable_execute=True to enable."


class LocalBackend(PlaceFiles, PlaceCommands):
    """Files in directories of this machine, and commands.

    Relative paths start at `root_dir`; absolute ones are paths of this machine, inside `allowed_directories`.
    Commands run on the host, where they can do whatever this process can; with `isolation="linux"` they run in
    a sandbox that has nothing of the host but the programs and these directories.

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
        isolation: Literal["linux"] | None = None,
        env: Sequence[str] | Literal["all"] = "all",
        toolchains: Sequence[str] = (),
        durable: bool = False,
    ) -> None:
        """What the backend is given.

        - `root_dir`: where relative paths start and commands run; made if it is not there. If nothing is said, the
          first of `allowed_directories`, or where this process is.
        - `allowed_directories`: what absolute paths may lead to; if nothing is said, `root_dir`. They hold for files:
          commands on the host go where this process can.
        - `enable_execute`: whether there are commands.
        - `sandbox_id`: what it is called (`id`).
        - `permissions`: rules, the same as a dictionary, or the name of a preset (`"readonly"`).
        - `ask_callback`: who is asked about what the rules ask about: `(operation, target, reason)`, sync or async.
        - `ask_fallback`: what happens where there is nobody to ask: a call raises (`"error"`), or is denied (`"deny"`).
        - `isolation`: `"linux"` for commands in a sandbox around the same directories.
        - `env`: which variables of this process commands see, by name; all of them on the host if nothing is said.
        - `toolchains`: of `"python"`, `"node"`, `"rust"` and `"go"`, what commands in a sandbox find besides the
          programs in `/usr`.
        - `durable`: whether a write is on the disk when it returns.
        """
        if isolation not in (None, "linux"):
            raise ValueError(f'isolation is "linux" or None, and not {isolation!r}; for containers there is DockerSandbox')
        allowed = None if allowed_directories is None else listed("allowed_directories", allowed_directories)
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
        self._checker: PermissionChecker | None = None
        wanted: dict[str, Any] = {
            "root": str(root),
            "directories": [str(directory) for directory in directories],
            "commands": "none" if not enable_execute else isolation or "host",
            "keeper": program(),
            "durable": durable,
            "toolchains": listed("toolchains", toolchains),
            "pass_variables": _passed(env, isolation),
        }
        if self._permissions is not None:
            wanted["rules"] = self._permissions.model_dump_json()
        with _said.plainly():
            self._place = Place.local(json.dumps(wanted), asker(ask_callback))
        self._commands_begin()

    @waits
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a line in a shell to its end, or until `timeout` seconds (120, if nothing is said) are over."""
        if not self._enabled:
            raise RuntimeError(_DISABLED)
        return (yield from PlaceCommands.execute.steps(self, command, timeout))  # type: ignore[attr-defined]

    @property
    def id(self) -> str:
        """What this backend is called."""
        return self._id

    @property
    def root_dir(self) -> Path:
        """Where relative paths start and commands run."""
        return self._root

    @property
    def allowed_directories(self) -> list[Path]:
        """The directories that may be used."""
        return list(self._allowed)

    @property
    def execute_enabled(self) -> bool:
        """Whether it runs commands."""
        return self._enabled

    @property
    def permissions(self) -> PermissionRuleset | None:
        """The rules it was given."""
        return self._permissions

    @property
    def permission_checker(self) -> PermissionChecker | None:
        """The same rules, to be asked."""
        if self._checker is None and self._permissions is not None:
            from workden.permissions import PermissionChecker

            self._checker = PermissionChecker(self._permissions, self._ask_callback, self._ask_fallback)
        return self._checker

    def _refused(self, failure: Failure) -> None:
        name, parts = _said.refusal(failure)
        if name == "unapproved" and self._ask_fallback == "error":
            from workden.permissions import PermissionAskError

            raise PermissionAskError(parts["operation"], parts["target"], "Approval required but no callback") from None

    def close(self) -> None:
        """Ends whatever runs in the background."""
        self._place.stop()

    def __enter__(self) -> LocalBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> LocalBackend:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._place.stop_async()


def _passed(env: Sequence[str] | Literal["all"], isolation: str | None) -> list[str]:
    if env != "all":
        return listed("env", env)
    # A sandbox is told nothing of the host that nobody named.
    return list(os.environ) if isolation is None else []
