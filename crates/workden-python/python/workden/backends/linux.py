"""`LinuxSandbox`: commands in Linux namespaces, without anything to install."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workden import _native
from workden._ask_callbacks import native_callback
from workden._options import Volumes, as_list, mounts, to_json
from workden._program import program
from workden._refusals import OnDenied, checked
from workden._rules import Permissions, rules_of
from workden._sandbox import NativeSandbox
from workden.backends.base import BaseSandbox

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback

__all__ = ["LinuxSandbox"]


@BaseSandbox.register
class LinuxSandbox(NativeSandbox):
    """A sandbox of namespaces: commands see `/workspace` and the programs of this machine, and nothing else.

    Without a directory, `/workspace` is empty, in memory, and ends with the sandbox. There is no network, and the
    environment is clean. The sandbox starts on first use, within some ten milliseconds.

    ```python
    from workden import LinuxSandbox

    with LinuxSandbox(memory="256M") as sandbox:
        sandbox.write("hello.sh", "echo $((6 * 7))")
        assert sandbox.execute("sh hello.sh").output == "42\\n"
    ```
    """

    def __init__(
        self,
        root_dir: str | os.PathLike[str] | None = None,
        sandbox_id: str | None = None,
        *,
        session_id: str | None = None,
        idle_timeout: float = 3600,
        volumes: Volumes | None = None,
        network_mode: Literal["none", "host"] | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        toolchains: Sequence[str] | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        pids: int | None = None,
        open_files: int | None = None,
        file_size: int | str | None = None,
        tmp_size: int | str | None = None,
        workspace_size: int | str | None = None,
        lifetime: float | None = None,
        end_when_idle: float | None = None,
        best_effort: bool = False,
        root_files: str | os.PathLike[str] | None = None,
        read_only: Sequence[str] = (),
        masked: Sequence[str] = (),
        git_files: Literal["protected", "writable"] = "protected",
        level: Literal["namespaces", "landlock"] = "namespaces",
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        on_denied: OnDenied = "answer",
    ) -> None:
        """Configures the sandbox.

        - `root_dir`: the host directory at `/workspace`; created if it is missing.
        - `volumes`: additional host paths, `{"/srv/data": "/data:ro"}`.
        - `network_mode`: `"host"`. By default: no network.
        - `env`, `pass_env`: environment variables, and names of variables to pass from this process.
        - `toolchains`: any of `"python"`, `"node"`, `"rust"` and `"go"`, in addition to the programs in `/usr`. By
          default: Python, if it is installed.
        - `memory`, `cpus`, `pids`, `open_files`, `file_size`, `tmp_size`, `workspace_size` (of one in memory),
          `lifetime` and `end_when_idle` (seconds): limits for all commands together. A given limit is enforced, or the
          sandbox does not start; with `best_effort` it is enforced where possible.
        - `root_files`: a root file system to use instead of the programs of this machine.
        - `read_only`, `masked`: paths that commands may not change, or may not read.
        - `git_files`: whether commands may change files that git executes outside the sandbox.
        - `level`: `"landlock"` for systems without user namespaces. It isolates less.
        - `permissions`, `ask_callback`, `ask_fallback`, `on_denied`: as in `LocalBackend`. Commands cannot open files
          that the rules deny.
        """
        if network_mode not in (None, "none", "host"):
            raise ValueError(f"network_mode {network_mode!r} is not supported by LinuxSandbox: use 'none' or 'host'")
        self._root = None if root_dir is None else Path(root_dir).expanduser().absolute()
        self._work_dir = "/workspace" if level == "namespaces" else "/"
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._permissions = permissions
        if self._root is not None:
            self._root.mkdir(parents=True, exist_ok=True)
        if toolchains is None:
            toolchains = _usual_toolchains() if root_files is None else ()
        limits = {
            "memory": memory,
            "cpus": cpus,
            "processes": pids,
            "open_files": open_files,
            "file_size": file_size,
            "tmp_size": tmp_size,
            "wall_clock": lifetime,
            "idle": end_when_idle,
        }
        self._config = to_json(
            keeper=program(),
            directory=None if self._root is None else str(self._root),
            ephemeral=workspace_size,
            level=level,
            root_files=None if root_files is None else os.path.abspath(root_files),
            mounts=mounts(volumes),
            read_only=as_list("read_only", read_only),
            masked=as_list("masked", masked),
            git_files=git_files,
            network=network_mode,
            variables=dict(env or {}),
            pass_variables=as_list("pass_env", pass_env),
            toolchains=as_list("toolchains", toolchains),
            limits=limits,
            limits_best_effort=best_effort,
            rules=rules_of(permissions),
        )
        self._asks = native_callback(ask_callback)
        super().__init__(session_id or sandbox_id, idle_timeout)

    def _create_native(self) -> _native.NativeWorkspace:
        return _native.NativeWorkspace.linux(self._config, self._asks)

    @property
    def root_dir(self) -> Path | None:
        """The host directory at `work_dir`; `None` if it is in memory."""
        return self._root

    @property
    def work_dir(self) -> str:
        """The directory in which relative paths and commands start."""
        return self._work_dir


def _usual_toolchains() -> Sequence[str]:
    try:
        _native.check_toolchain("python")
    except _native.Failure:
        return ()
    return ("python",)
