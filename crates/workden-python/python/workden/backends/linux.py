"""`LinuxSandbox`: commands in namespaces of their own, with nothing to install."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workden import _native
from workden._asking import asker
from workden._program import program
from workden._rules import Permissions, rules_of
from workden._sandbox import PlaceSandbox
from workden._shown import Volumes, listed, mounts, said
from workden.backends.base import BaseSandbox

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback

__all__ = ["LinuxSandbox"]


@BaseSandbox.register
class LinuxSandbox(PlaceSandbox):
    """A sandbox of namespaces: commands see `/workspace`, the programs of this machine, and nothing else.

    Without a directory `/workspace` is empty, in memory, and ends with the sandbox. There is no network, the
    environment is clean, and it starts in some ten milliseconds, when it is first needed.

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
    ) -> None:
        """What the sandbox is given.

        - `root_dir`: the directory of the host that is `/workspace`; it is made if it is not there.
        - `volumes`: more of the host, `{"/srv/data": "/data:ro"}`.
        - `network_mode`: `"host"`, or nothing, which is none.
        - `env`, `pass_env`: variables, and names of those that commands get from this process.
        - `toolchains`: of `"python"`, `"node"`, `"rust"` and `"go"`, what commands find besides the programs in
          `/usr`. If nothing is said, Python where there is one.
        - `memory`, `cpus`, `pids`, `open_files`, `file_size`, `tmp_size`, `workspace_size` (of one in memory),
          `lifetime` and `end_when_idle` (seconds): limits, of all commands together. What is named holds, or the
          sandbox does not start; with `best_effort` it holds where it can.
        - `root_files`: a root file system of its own, instead of the programs of this machine.
        - `read_only`, `masked`: paths that commands may not change, or not even read.
        - `git_files`: whether commands may change what git runs by itself outside.
        - `level`: `"landlock"` for where nobody may make namespaces. It holds less.
        - `permissions`, `ask_callback`, `ask_fallback`: as in `LocalBackend`. Commands cannot open what the rules
          deny.
        """
        if network_mode not in (None, "none", "host"):
            raise ValueError(f"network_mode is 'none' or 'host' for a LinuxSandbox, not {network_mode!r}")
        self._root = None if root_dir is None else Path(root_dir).expanduser().absolute()
        self._work_dir = "/workspace" if level == "namespaces" else "/"
        self._ask_fallback: AskFallback = ask_fallback
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
        self._wanted = said(
            keeper=program(),
            directory=None if self._root is None else str(self._root),
            ephemeral=workspace_size,
            level=level,
            root_files=None if root_files is None else os.path.abspath(root_files),
            mounts=mounts(volumes),
            read_only=listed("read_only", read_only),
            masked=listed("masked", masked),
            git_files=git_files,
            network=network_mode,
            variables=dict(env or {}),
            pass_variables=listed("pass_env", pass_env),
            toolchains=listed("toolchains", toolchains),
            limits=limits,
            limits_best_effort=best_effort,
            rules=rules_of(permissions),
        )
        self._asks = asker(ask_callback)
        super().__init__(session_id or sandbox_id, idle_timeout)

    def _made(self) -> _native.Place:
        return _native.Place.linux(self._wanted, self._asks)

    @property
    def root_dir(self) -> Path | None:
        """The directory of the host that is worked in; `None` where it is in memory."""
        return self._root

    @property
    def work_dir(self) -> str:
        """Where relative paths start and commands run."""
        return self._work_dir


def _usual_toolchains() -> Sequence[str]:
    try:
        _native.check_toolchain("python")
    except _native.Failure:
        return ()
    return ("python",)
