"""`DaytonaSandbox`: files and commands in a sandbox of Daytona, a hosting service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from workden import _native
from workden._ask_callbacks import native_callback
from workden._dual import Steps, dual_method
from workden._options import as_list, to_json
from workden._program import container_keepers, program
from workden._refusals import OnDenied, checked
from workden._rules import Permissions, rules_of
from workden._sandbox import NativeSandbox
from workden.backends.base import BaseSandbox
from workden.types import ExecuteResponse, FileInfo

if TYPE_CHECKING:
    from workden.permissions import AskCallback, AskFallback

__all__ = ["DaytonaSandbox"]

_COMMAND_SECONDS = 30 * 60


@BaseSandbox.register
class DaytonaSandbox(NativeSandbox):
    """A sandbox at Daytona. It starts on first use, and is deleted when it stops.

    A keeper in it serves files and commands over one connection, so a call takes one round trip and behaves as in every
    other sandbox. Where no keeper can run, Daytona's own calls are used, with the differences that `isolation()` names.

    ```python no-run
    from workden import DaytonaSandbox

    with DaytonaSandbox(image="python:3.12-slim") as sandbox:  # the key is that of DAYTONA_API_KEY
        sandbox.write("hello.py", "print(6 * 7)")
        print(sandbox.execute("python hello.py").output)
    ```
    """

    def __init__(
        self,
        api_key: str | None = None,
        sandbox_id: str | None = None,
        work_dir: str = "/home/daytona",
        startup_timeout: float = 180,
        *,
        session_id: str | None = None,
        api_url: str | None = None,
        target: str | None = None,
        snapshot: str | None = None,
        image: str | None = None,
        sandbox_name: str | None = None,
        attach: str | None = None,
        mode: Literal["keeper", "toolbox"] | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        memory: int | str | None = None,
        disk: int | str | None = None,
        cpus: float | None = None,
        gpus: int | None = None,
        volumes: Mapping[str, str] | None = None,
        network: Literal["none", "internet"] | None = None,
        allowed_networks: Sequence[str] = (),
        auto_stop_interval: int | None = None,
        auto_archive_interval: int | None = None,
        auto_delete_interval: int | None = None,
        delete_on_stop: bool = True,
        idle_timeout: float = 3600,
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        on_denied: OnDenied = "answer",
    ) -> None:
        """Configures the sandbox.

        - `api_key`, `api_url`, `target`: the account, the API and the region. By default: `DAYTONA_API_KEY`,
          `DAYTONA_API_URL` and `DAYTONA_TARGET`.
        - `sandbox_id`, `session_id`: the `id` of this object. By default it is Daytona's.
        - `work_dir`: the directory in which relative paths and commands start.
        - `startup_timeout`: seconds for the start.
        - `snapshot`, or `image`: what it is created from. By default: Daytona's own snapshot.
        - `sandbox_name`: uses the sandbox with this name, and creates it if it is missing.
        - `attach`: uses an existing sandbox, by its id or name.
        - `mode`: the only way to reach files and commands. By default: the keeper, or else the toolbox.
        - `user`, `env`, `labels`, `volumes` (`{"volume id": "/data"}`): of the sandbox.
        - `memory`, `disk`, `cpus`, `gpus`: with an `image`. Daytona counts whole GiB and whole processors.
        - `network`: `"none"`, or `"internet"`. By default, and with `"internet"`: what the organisation has.
          `allowed_networks`: the only networks that commands reach, like `["10.0.0.0/8"]`.
        - `auto_stop_interval`, `auto_archive_interval`, `auto_delete_interval`: minutes, as Daytona counts them.
        - `delete_on_stop`: whether the sandbox is deleted when it stops. Otherwise Daytona keeps its files.
        - `permissions`, `ask_callback`, `ask_fallback`, `on_denied`: as in `LinuxSandbox`.

        Raises `ValueError` if no API key is set.
        """
        if mode not in (None, "keeper", "toolbox"):
            raise ValueError(f"invalid mode {mode!r}: use 'keeper' or 'toolbox'")
        self._given = sandbox_id or session_id
        self._work_dir = work_dir
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._permissions = permissions
        self._status = _native.DaytonaStatus()
        self._config = to_json(
            api_key=api_key,
            api_url=api_url,
            target=target,
            snapshot=snapshot,
            image=image,
            name=sandbox_name,
            attach=attach,
            mode=mode,
            user=user,
            work_dir=work_dir,
            labels={**({"workden.dev/session-id": self._given} if self._given else {}), **(labels or {})},
            variables=dict(env or {}),
            memory=memory,
            disk=disk,
            cpus=cpus,
            gpus=gpus,
            volumes=dict(volumes or {}),
            network=network,
            allowed_networks=as_list("allowed_networks", allowed_networks),
            auto_stop=auto_stop_interval,
            auto_archive=auto_archive_interval,
            auto_delete=auto_delete_interval,
            keep=not delete_on_stop,
            start_timeout=startup_timeout,
            keeper=program(),
            keepers=container_keepers(),
            rules=rules_of(permissions),
        )
        self._asks = native_callback(ask_callback)
        super().__init__(self._given, idle_timeout)

    def _create_native(self) -> _native.NativeWorkspace:
        return _native.NativeWorkspace.daytona(self._config, self._status, self._asks)

    @property
    def id(self) -> str:
        """The id that was given, or else Daytona's once the sandbox has started, and until then a random one."""
        return self._given or self._status.id or self._id

    @property
    def name(self) -> str | None:
        """Daytona's name of the sandbox; `None` before the first start."""
        return self._status.name

    @property
    def mode(self) -> str | None:
        """How files and commands are reached: `"keeper"` or `"toolbox"`; `None` before the first start."""
        return self._status.mode

    @property
    def work_dir(self) -> str:
        """The directory in which relative paths and commands start."""
        return self._work_dir

    @dual_method
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a shell command until it exits, or for `timeout` seconds (default: 30 minutes)."""
        seconds = _COMMAND_SECONDS if timeout is None else timeout
        return (yield from NativeSandbox.execute.steps(self, command, seconds))  # type: ignore[attr-defined]

    @dual_method
    def glob_info(self, pattern: str, path: str = "/") -> Steps[list[FileInfo]]:
        """Returns the files below `path` whose path matches, newest first. `/` is the whole sandbox, `.` is
        `work_dir`."""
        return (yield from NativeSandbox.glob_info.steps(self, pattern, path))  # type: ignore[attr-defined]
