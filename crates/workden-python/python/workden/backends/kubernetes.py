"""`KubernetesPodSandbox`: files and commands in a pod of a Kubernetes cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

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

__all__ = ["KubernetesPodSandbox"]

_MODES = (None, "keeper", "api", "http")
_COMMAND_SECONDS = 30 * 60
# Network policies and scripts may select pods by this label, as pydantic-ai-backend sets it.
_APP = {"app": "pab-sandbox"}


@BaseSandbox.register
class KubernetesPodSandbox(NativeSandbox):
    """A sandbox in a pod. It starts on first use.

    The pod satisfies the Pod Security Standard `restricted`. A keeper in it serves files and commands over one
    connection, so the image needs no server; `mode="http"` uses the server of the image instead.

    ```python no-run
    from workden import KubernetesPodSandbox

    with KubernetesPodSandbox("python:3.12-slim", namespace="agents") as sandbox:
        sandbox.write("hello.py", "print(6 * 7)")
        print(sandbox.execute("python hello.py").output)
    ```
    """

    def __init__(
        self,
        image: str,
        *,
        namespace: str = "default",
        sandbox_id: str | None = None,
        session_id: str | None = None,
        mode: Literal["keeper", "api", "http"] | None = None,
        port: int = 8080,
        exec_token: str | None = None,
        pod_template: Mapping[str, Any] | None = None,
        kube_config_path: str | os.PathLike[str] | None = None,
        in_cluster: bool | None = None,
        startup_timeout: float = 60,
        idle_timeout: float = 3600,
        labels: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        delete_on_stop: bool = True,
        service_account_name: str = "default",
        context: str | None = None,
        pod_name: str | None = None,
        reach: Literal["direct", "port_forward", "exec"] | None = None,
        keeper_image: str | None = None,
        work_dir: str = "/workspace",
        claim: str | None = None,
        workspace_size: int | str | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        network: Literal["none", "cluster"] = "none",
        runtime_class: str | None = None,
        node_selector: Mapping[str, str] | None = None,
        tolerations: Sequence[Mapping[str, Any]] = (),
        annotations: Mapping[str, str] | None = None,
        image_pull_secrets: Sequence[str] = (),
        scheduling_timeout: float | None = None,
        lease: float | None = None,
        permissions: Permissions | None = None,
        ask_callback: AskCallback | None = None,
        ask_fallback: AskFallback = "error",
        on_denied: OnDenied = "answer",
    ) -> None:
        """Configures the pod.

        - `image`, `namespace`, `labels`, `annotations`, `env`, `service_account_name`: of the pod. The token of the
          service account is not mounted.
        - `mode`: `"keeper"` (default; `"api"` is the same) works with any image that has `sh`. `"http"` starts the
          image as it is, and calls its server at `port` with `exec_token` (random by default).
        - `pod_template`: a pod that is merged over the default one. Commands run in its container `workden`, or else in
          its first one.
        - `kube_config_path`, `context`, `in_cluster`: the cluster. By default: `KUBECONFIG`, the cluster of this pod,
          or `~/.kube/config`.
        - `pod_name`: uses the pod with this name, and creates it if it is missing.
        - `startup_timeout`, `scheduling_timeout`: seconds for the start, and for finding a node (default: the same).
        - `delete_on_stop`: whether the pod is deleted when the sandbox stops. Otherwise it stays, without processes.
        - `reach`: the only way to reach the keeper. By default: the first that works.
        - `keeper_image`: an image with the keeper, which an init container copies. The image then needs no `sh`.
        - `claim`, `workspace_size`: a volume claim for the files of `work_dir`, or the limit of a temporary volume.
        - `memory`, `cpus`: limits. `network`: the label that network policies of the cluster select.
        - `runtime_class`, `node_selector`, `tolerations`, `image_pull_secrets`: as in a pod.
        - `lease`: seconds that the pod lives without a connected client.
        - `permissions`, `ask_callback`, `ask_fallback`, `on_denied`: as in `LinuxSandbox`.
        """
        if mode not in _MODES:
            raise ValueError(f"invalid mode {mode!r}: use 'keeper' (or 'api'), or 'http'")
        if in_cluster and (context is not None or kube_config_path is not None):
            raise ValueError("in_cluster=True is not supported with a kubeconfig: remove one of them")
        given = sandbox_id or session_id
        self._work_dir = work_dir
        self._ask_fallback: AskFallback = ask_fallback
        self._on_denied: OnDenied = checked(on_denied)
        self._permissions = permissions
        self._config = to_json(
            cluster={
                "in_cluster": in_cluster is True,
                "kubeconfig": _kubeconfig(kube_config_path, in_cluster),
                "context": context,
                "namespace": namespace,
                "keeper": program(),
                "keepers": container_keepers(),
            },
            image=image,
            work_dir=work_dir,
            pod_name=pod_name,
            http={"port": port, "token": exec_token} if mode == "http" else None,
            reach=reach,
            template=None if pod_template is None else dict(pod_template),
            keeper_image=keeper_image,
            labels={**_APP, **(labels or {})},
            annotations={**({"workden.dev/session-id": given} if given else {}), **(annotations or {})},
            variables=dict(env or {}),
            service_account=service_account_name,
            node_selector=dict(node_selector or {}),
            tolerations=[dict(toleration) for toleration in tolerations],
            runtime_class=runtime_class,
            pull_secrets=as_list("image_pull_secrets", image_pull_secrets),
            claim=claim,
            workspace_size=workspace_size,
            memory=memory,
            cpus=cpus,
            network=network,
            keep=not delete_on_stop,
            start_timeout=startup_timeout,
            scheduling_timeout=startup_timeout if scheduling_timeout is None else scheduling_timeout,
            lease=lease,
            rules=rules_of(permissions),
        )
        self._asks = native_callback(ask_callback)
        super().__init__(given, idle_timeout)

    def _create_native(self) -> _native.NativeWorkspace:
        return _native.NativeWorkspace.kubernetes(self._config, self._asks)

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
        """Returns the files below `path` whose path matches, newest first. `/` is the whole container, `.` is
        `work_dir`."""
        return (yield from NativeSandbox.glob_info.steps(self, pattern, path))  # type: ignore[attr-defined]


def _kubeconfig(named: str | os.PathLike[str] | None, in_cluster: bool | None) -> str | None:
    if named is not None:
        return os.path.abspath(os.path.expanduser(named))
    # The environment would choose the cluster of this pod.
    if in_cluster is False and not os.environ.get("KUBECONFIG"):
        return os.path.expanduser("~/.kube/config")
    return None
