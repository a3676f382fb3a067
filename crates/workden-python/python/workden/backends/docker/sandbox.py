"""`DockerSandbox`: files and commands in a container of a Docker or Podman daemon."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from workden import _native
from workden._ask_callbacks import native_callback
from workden._dual import Steps, dual_method
from workden._options import Volumes, as_list, mount, mounts, to_json
from workden._program import container_keepers, program
from workden._refusals import OnDenied, checked
from workden._rules import Permissions, rules_of
from workden._sandbox import NativeSandbox
from workden.backends.base import BaseSandbox
from workden.types import ExecuteResponse, FileInfo

if TYPE_CHECKING:
    from workden._runtime_config import RuntimeConfig
    from workden.permissions import AskCallback, AskFallback

__all__ = ["DockerSandbox"]


@BaseSandbox.register
class DockerSandbox(NativeSandbox):
    """A sandbox in a container. It starts on first use.

    The daemon is the one in `DOCKER_HOST`, or else at the default socket. The container has no network, few privileges,
    and at most 512 processes. The image needs no additional software.

    ```python no-run
    from workden import DockerSandbox

    with DockerSandbox(image="python:3.12-slim") as sandbox:
        sandbox.write("hello.py", "print(6 * 7)")
        print(sandbox.execute("python hello.py").output)
    ```
    """

    def __init__(
        self,
        image: str = "python:3.12-slim",
        sandbox_id: str | None = None,
        work_dir: str = "/workspace",
        auto_remove: bool = True,
        runtime: RuntimeConfig | str | None = None,
        session_id: str | None = None,
        idle_timeout: float = 3600,
        volumes: Volumes | None = None,
        network_mode: str | None = None,
        container_name: str | None = None,
        *,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        memory: int | str | None = None,
        swap: int | str | None = None,
        cpus: float | None = None,
        pids: int | None = None,
        tmpfs: Mapping[str, int | str] | None = None,
        user: str | int | None = None,
        privileges: Literal["few", "none", "of_daemon"] | None = None,
        read_only_root: bool = False,
        read_only: Sequence[str] = (),
        masked: Sequence[str] = (),
        git_files: Literal["protected", "writable"] = "protected",
        init: Literal["keeper", "of_daemon"] = "keeper",
        oci_runtime: str | None = None,
        lease: float | None = None,
        build_network: str | None = None,
        docker_host: str | None = None,
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        on_denied: OnDenied = "answer",
    ) -> None:
        """Configures the container.

        - `image`, `work_dir`: the image and the directory for commands. A `runtime` replaces both.
        - `volumes`: `{"/srv/data": "/data:ro"}`; a name without `/` is a volume of the daemon.
        - `network_mode`: `"bridge"`, `"host"` or a network of the daemon. By default: no network.
        - `container_name`: reuses the container with this name. It is kept when the sandbox stops, as without
          `auto_remove`.
        - `env`, `labels`: environment variables of commands, and labels of the container.
        - `memory`, `swap`, `cpus`, `pids`, `tmpfs`: limits, and in-memory file systems, `{"/tmp": "64M"}`.
        - `user`: `"1000:1000"`, a name, or `""` for the user of the image. By default: the owner of the directory
          mounted at `work_dir`, so that new files belong to that user.
        - `privileges`: privileges of commands; `few` is enough for package managers.
        - `read_only_root`: makes the files of the image read-only.
        - `read_only`, `masked`, `git_files`, `permissions`, `ask_callback`, `ask_fallback`, `on_denied`: as in
          `LinuxSandbox`, for files mounted from the host.
        - `init`, `oci_runtime`: the first process, and the runtime of the daemon (`"runsc"`).
        - `lease`: seconds that the container lives without a connected client.
        - `build_network`: the network for image builds; `docker_host`: the address of the daemon.
        """
        if isinstance(runtime, str):
            from workden.backends.docker.runtimes import get_runtime

            runtime = get_runtime(runtime)
        self._runtime = runtime
        self._image = image
        self._work_dir = work_dir if runtime is None else runtime.work_dir
        self._container_name = container_name
        self._auto_remove = auto_remove and container_name is None
        self._network_mode = network_mode
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._permissions = permissions
        named, of_host = _volumes(volumes)
        self._config = to_json(
            daemon={"host": docker_host, "keeper": program(), "keepers": container_keepers()},
            image=image,
            runtime=None if runtime is None else runtime.model_dump(mode="json"),
            work_dir=self._work_dir,
            volumes=of_host,
            named_volumes=named,
            read_only=as_list("read_only", read_only),
            masked=as_list("masked", masked),
            git_files=git_files,
            network=network_mode,
            build_network=build_network,
            container_name=container_name,
            keep=not self._auto_remove,
            labels=dict(labels or {}),
            variables=dict(env or {}),
            memory=memory,
            swap=swap,
            cpus=cpus,
            processes=pids,
            tmpfs=dict(tmpfs or {}),
            privileges=privileges,
            user=_user(user),
            read_only_root=read_only_root,
            daemons_init=init == "of_daemon",
            oci_runtime=oci_runtime,
            lease=lease,
            rules=rules_of(permissions),
        )
        self._asks = native_callback(ask_callback)
        super().__init__(session_id or sandbox_id, idle_timeout)

    def _create_native(self) -> _native.NativeWorkspace:
        return _native.NativeWorkspace.docker(self._config, self._asks)

    @property
    def runtime(self) -> RuntimeConfig | None:
        """The runtime, if one was given."""
        return self._runtime

    @property
    def work_dir(self) -> str:
        """The directory in which relative paths and commands start."""
        return self._work_dir

    @dual_method
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a shell command until it exits, or for `timeout` seconds (default: no limit)."""
        seconds = math.inf if timeout is None else timeout
        return (yield from NativeSandbox.execute.steps(self, command, seconds))  # type: ignore[attr-defined]

    @dual_method
    def glob_info(self, pattern: str, path: str = "/") -> Steps[list[FileInfo]]:
        """Returns the files below `path` whose path matches, newest first. `/` is the whole container, `.` is
        `work_dir`."""
        return (yield from NativeSandbox.glob_info.steps(self, pattern, path))  # type: ignore[attr-defined]


def _volumes(volumes: Volumes | None) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Splits volumes into those of the daemon and host paths."""
    names = {source: at for source, at in (volumes or {}).items() if isinstance(source, str) and _is_name(source)}
    of_host = {source: at for source, at in (volumes or {}).items() if source not in names}
    return [mount(name, at) for name, at in names.items()], mounts(of_host)


def _is_name(source: str) -> bool:
    return os.sep not in source and not source.startswith((".", "~"))


def _user(user: str | int | None) -> object:
    if user is None:
        return None
    user, _, group = str(user).partition(":")
    if not user:
        return "of_image"
    if user.isdecimal() and (group or user).isdecimal():
        return {"ids": [int(user), int(group or user)]}
    return {"named": f"{user}:{group}" if group else user}
