"""Options of `KubernetesPodSandbox`, without a cluster."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from workden import _native
from workden.backends.base import BaseSandbox
from workden.backends.kubernetes import KubernetesPodSandbox
from workden.protocol import BackgroundSandboxProtocol

# The parameters of pydantic-ai-backend 0.2.15 and their defaults. `mode` differs: see docs/compatibility-python.md.
OF_THE_REFERENCE = {
    "namespace": "default",
    "sandbox_id": None,
    "session_id": None,
    "mode": None,
    "port": 8080,
    "exec_token": None,
    "pod_template": None,
    "kube_config_path": None,
    "in_cluster": None,
    "startup_timeout": 60,
    "idle_timeout": 3600,
    "labels": None,
    "env": None,
    "delete_on_stop": True,
    "service_account_name": "default",
}


def test_parameters_are_those_of_the_reference() -> None:
    parameters = inspect.signature(KubernetesPodSandbox).parameters
    assert list(parameters)[: 1 + len(OF_THE_REFERENCE)] == ["image", *OF_THE_REFERENCE]
    assert {name: parameters[name].default for name in OF_THE_REFERENCE} == OF_THE_REFERENCE
    assert all(each.kind is each.KEYWORD_ONLY for name, each in parameters.items() if name != "image")


def test_the_constructor_does_not_contact_the_cluster(tmp_path: Path) -> None:
    sandbox = KubernetesPodSandbox("debian:12", session_id="one", kube_config_path=tmp_path / "none")
    assert isinstance(sandbox, BackgroundSandboxProtocol) and isinstance(sandbox, BaseSandbox)
    assert (sandbox.id, sandbox.work_dir, sandbox.idle_timeout) == ("one", "/workspace", 3600)
    assert not sandbox.is_alive()
    with pytest.raises(RuntimeError, match="kubeconfig not found"):
        sandbox.start()
    assert sandbox.execute("true").exit_code != 0 and "kubeconfig not found" in sandbox.execute("true").output
    assert sandbox.glob_info("*") == []
    sandbox.stop()


@pytest.mark.parametrize("in_cluster", [True, False, None])
def test_the_cluster_is_chosen(in_cluster: bool | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(RuntimeError, match="not run in a pod|kubeconfig not found") as raised:
        KubernetesPodSandbox("debian:12", in_cluster=in_cluster).start()
    assert (str(tmp_path) in str(raised.value)) == (in_cluster is not True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "exec"}, "invalid mode 'exec': use 'keeper'"),
        ({"in_cluster": True, "context": "a"}, "in_cluster=True is not supported with a kubeconfig"),
        ({"pod_template": {"spec": 1}}, "pod template"),
        ({"tolerations": [{"key": 1}]}, "toleration"),
        ({"memory": "many"}, "many"),
        ({"mode": "http", "port": 0}, "invalid port `0`"),
        ({"mode": "http", "reach": "exec"}, "not supported with the HTTP mode"),
        ({"mode": "http", "keeper_image": "k"}, "not supported with the HTTP mode"),
        ({"work_dir": "/"}, "invalid work directory"),
        ({"startup_timeout": -1}, "startup_timeout"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], says: str) -> None:
    with pytest.raises(Exception, match=says) as raised:
        KubernetesPodSandbox("debian:12", **options)
    assert isinstance(raised.value, (ValueError, RuntimeError, NotImplementedError))


def test_an_image_is_needed() -> None:
    with pytest.raises(ValueError, match="needs an image"):
        KubernetesPodSandbox("")


def test_all_options_are_accepted() -> None:
    every: dict[str, Any] = {
        "pod_template": {"spec": {"containers": [{"name": "sandbox", "command": ["sleep", "infinity"]}]}},
        "labels": {"team": "a"}, "env": {"A": "b"}, "annotations": {"a": "b"}, "node_selector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}], "image_pull_secrets": ["registry"], "reach": "exec",
        "runtime_class": "gvisor", "claim": "files", "memory": "512M", "cpus": 0.5, "network": "cluster",
        "keeper_image": "keeper:1", "context": "other", "pod_name": "mine", "lease": 60, "scheduling_timeout": 5,
        "delete_on_stop": False, "mode": "api",
    }  # fmt: skip
    KubernetesPodSandbox("debian:12", **every)
    KubernetesPodSandbox("debian:12", workspace_size="2G", mode="keeper", reach="direct")
    KubernetesPodSandbox("debian:12", mode="http", exec_token="secret", reach="port_forward", pod_template={})


def test_invalid_configurations_are_rejected() -> None:
    with pytest.raises(_native.Failure, match="a pod"):
        _native.NativeWorkspace.kubernetes("{")
