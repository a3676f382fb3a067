"""`KubernetesPodSandbox` in a real cluster, in every mode and over every way.

`cargo xtask kubernetes -- cargo xtask python -- -m kubernetes` starts a cluster, with the images below.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until
from workden.backends.docker.session import SessionManager
from workden.backends.kubernetes import KubernetesPodSandbox

pytestmark = pytest.mark.kubernetes

BUSYBOX = "workden-test/busybox:1"
PYTHON = "workden-test/python:1"
SERVER = Path(__file__).with_name("pod_server.py").read_text()
SERVED = {"spec": {"containers": [{"name": "any", "command": ["python3", "-c", SERVER]}]}}
Make = Callable[..., KubernetesPodSandbox]
WAYS = ("direct", "port_forward", "exec")


def kubeconfig() -> str:
    return os.environ["WORKDEN_TEST_KUBECONFIG"]


def kubectl(*words: str) -> str:
    """Returns the output of the cluster's own client."""
    program = os.environ.get("WORKDEN_TEST_KUBECTL") or "kubectl"
    command = [program, "--kubeconfig", kubeconfig(), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    name = f"workden-python-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def make(namespace: str) -> Iterator[Make]:
    """Makes sandboxes in the namespace of this module, and stops them afterwards."""
    made: list[KubernetesPodSandbox] = []

    def make(image: str = BUSYBOX, **options: Any) -> KubernetesPodSandbox:
        options = {"namespace": namespace, "kube_config_path": kubeconfig(), **options}
        made.append(KubernetesPodSandbox(image, **options))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.stop()


def pods(namespace: str) -> list[dict[str, Any]]:
    all_pods = json.loads(kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    return [pod for pod in all_pods if "deletionTimestamp" not in pod["metadata"]]


def check_files_and_commands(sandbox: KubernetesPodSandbox) -> None:
    """What every mode must do, as pydantic-ai-backend's console tools call it."""
    assert sandbox.write("/workspace/a/one.txt", "one\ntwo\nthree\n").error is None
    assert sandbox.execute("cat /workspace/a/one.txt").output == "one\ntwo\nthree\n"
    window = sandbox.read("/workspace/a/one.txt", 1, 1)
    assert "two" in window and "one" not in window
    assert sandbox.read_bytes("a/one.txt") == b"one\ntwo\nthree\n"
    assert "not found" in sandbox.read("/workspace/none.txt")
    edited = sandbox.edit("a/one.txt", "two", "2")
    assert (edited.error, edited.occurrences) == (None, 1)
    assert "not found" in str(sandbox.edit("a/one.txt", "four", "4").error).lower()
    sandbox.write("a/two.py", "import os\nx = 'it''s'\n")
    sandbox.write("b.txt", b"caf\xc3\xa9\r\n")
    assert sandbox.read_bytes("b.txt") == b"caf\xc3\xa9\r\n"
    assert [(row["name"], row["is_dir"]) for row in sandbox.ls_info("/workspace")] == [("a", True), ("b.txt", False)]
    assert sorted(row["path"] for row in sandbox.glob_info("**/*.py", "/workspace")) == ["/workspace/a/two.py"]
    for pattern in ("import", r"^import\s+os$"):
        found = sandbox.grep_raw(pattern, "/workspace")
        assert [(match["path"], match["line_number"]) for match in found] == [("/workspace/a/two.py", 1)]
    assert sandbox.grep_raw("nowhere", "/workspace") == []
    assert sandbox.exists("a/one.txt") and not sandbox.exists("none")
    failed = sandbox.execute("pwd; echo problem >&2; exit 3")
    assert (failed.output, failed.exit_code) == ("/workspace\nproblem\n", 3)
    began = time.monotonic()
    assert sandbox.execute("sleep 60", timeout=1).exit_code == 124
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("reach", WAYS)
def test_a_keeper_serves_any_image_over_every_way(make: Make, namespace: str, reach: Any) -> None:
    with make(PYTHON if reach == "direct" else BUSYBOX, reach=reach) as sandbox:
        assert not sandbox.is_alive()
        sandbox.start()
        assert sandbox.is_alive()
        check_files_and_commands(sandbox)
        handle = sandbox.execute_background("echo started; sleep 60")
        until(lambda: "started" in sandbox.read_background(handle.shell_id).stdout)
        assert sandbox.isolation()["level"] == "container"
    assert not sandbox.is_alive()


def test_only_the_import_changes(make: Make, namespace: str) -> None:
    """A call of pydantic-ai-backend, with an image that serves HTTP, and its options."""
    sandbox = make(
        PYTHON, sandbox_id="demo-1", service_account_name="default", labels={"team": "a"}, env={"GREETING": "hello"},
        pod_template={"spec": {"containers": [{"name": "sandbox", "command": ["sleep", "infinity"]}]}},
    )  # fmt: skip
    sandbox.start()
    assert sandbox.execute("echo $GREETING").output == "hello\n"
    (pod,) = [pod for pod in pods(namespace) if "team" in pod["metadata"]["labels"]]
    assert pod["metadata"]["labels"]["app"] == "pab-sandbox"
    assert pod["metadata"]["annotations"]["workden.dev/session-id"] == "demo-1"
    assert [container["name"] for container in pod["spec"]["containers"]] == ["workden"]
    sandbox.stop()
    until(lambda: pod["metadata"]["name"] not in {each["metadata"]["name"] for each in pods(namespace)})


@pytest.mark.parametrize("reach", ["direct", "port_forward"])
def test_http_mode_uses_the_server_of_the_image(make: Make, reach: Any) -> None:
    with make(PYTHON, mode="http", port=9001, exec_token="secret", pod_template=SERVED, reach=reach) as sandbox:
        sandbox.start()
        assert sandbox.is_alive()
        check_files_and_commands(sandbox)
        assert sandbox.execute("echo $SANDBOX_EXEC_TOKEN").output == "secret\n"
        sandbox.execute("printf 'caf\\351' > latin")
        assert sandbox.read_bytes("latin") == b"" and "exact bytes" in sandbox.read("latin")
        assert "exact bytes" in str(sandbox.edit("latin", "caf", "tea").error)
        assert sandbox.execute("cat latin | od -An -tx1").output.split() == ["63", "61", "66", "e9"]
        with pytest.raises(RuntimeError, match="background command is not supported with the HTTP mode"):
            sandbox.execute_background("sleep 1")
        assert "calls to the pod are not encrypted" in sandbox.isolation()["lacking"]
        cut = sandbox.execute("yes | head -c 300000")
        assert cut.truncated and len(cut.output) <= 101_000


@pytest.mark.parametrize(
    ("how", "says"),
    [("garbage", "invalid answer"), ("status", "HTTP 507"), ("endless", "larger than|timed out")],
)
def test_a_server_that_breaks_the_protocol_is_a_clear_error(make: Make, how: str, says: str) -> None:
    env = {"BREAK": json.dumps({"/exec": how, "/read": how})}
    with make(PYTHON, mode="http", pod_template=SERVED, env=env) as sandbox:
        sandbox.write("a.txt", "a")
        began = time.monotonic()
        answer = sandbox.execute("true", timeout=5)
        assert answer.exit_code == 1 and len(answer.output) < 1000
        assert re.search(says, answer.output), answer.output
        assert sandbox.read("a.txt").startswith("Error: ")
        assert time.monotonic() - began < 60


def test_a_server_that_hangs_is_a_timeout(make: Make) -> None:
    with make(PYTHON, mode="http", pod_template=SERVED, env={"BREAK": '{"/exec": "hang"}'}) as sandbox:
        began = time.monotonic()
        assert sandbox.execute("true", timeout=1).exit_code == 124
        assert time.monotonic() - began < 20


def test_an_image_without_a_server_fails_and_leaves_no_pod(make: Make, namespace: str) -> None:
    quiet = {"spec": {"containers": [{"name": "any", "command": ["sleep", "60"]}]}}
    sandbox = make(BUSYBOX, mode="http", pod_template=quiet, startup_timeout=4, labels={"quiet": "1"})
    with pytest.raises(RuntimeError, match="no server answers at port 8080"):
        sandbox.start()
    until(lambda: not [pod for pod in pods(namespace) if "quiet" in pod["metadata"]["labels"]])


def test_a_pod_that_cannot_start_says_why(make: Make) -> None:
    with pytest.raises(RuntimeError, match="cannot start: ErrImage|cannot start: ImagePull"):
        make("workden-test/none:1").start()
    with pytest.raises(RuntimeError, match="serviceaccount"):
        make(service_account_name="missing").start()


@pytest.mark.parametrize("mode", ["keeper", "http"])
def test_a_deleted_pod_is_gone(make: Make, namespace: str, mode: Any) -> None:
    sandbox = make(PYTHON, mode=mode, pod_template=SERVED, labels={"deleted": mode})
    sandbox.start()
    kubectl("delete", "pods", "-n", namespace, "-l", f"deleted={mode}", "--grace-period=1", "--wait=true")
    answer = sandbox.execute("true")
    assert answer.exit_code == 1 and "gone" in answer.output, answer
    assert not sandbox.is_alive()
    # A start after the end is a new pod.
    sandbox.start()
    assert sandbox.execute("echo again").output == "again\n"


def test_sandboxes_share_a_pod_by_its_name(make: Make, namespace: str) -> None:
    first, second = make(pod_name="shared", delete_on_stop=False), make(pod_name="shared")
    first.write("a.txt", "of the first")
    assert second.read_bytes("a.txt") == b"of the first"
    assert len([pod for pod in pods(namespace) if pod["metadata"]["name"] == "shared"]) == 1
    second.stop()


@pytest.mark.parametrize("mode", ["keeper", "http"])
async def test_sessions_are_pods(make: Make, namespace: str, mode: Any) -> None:
    def factory(session_id: str) -> KubernetesPodSandbox:
        return make(PYTHON, session_id=session_id, mode=mode, pod_template=SERVED, labels={"session": mode})

    async with SessionManager(sandbox_factory=factory) as sessions:
        made = await asyncio.gather(*(sessions.get_or_create(id) for id in ("user_1", "user-1", "user_1")))
        assert made[0] is made[2] and made[0] is not made[1]
        await made[0].async_execute("echo mine > mine.txt")
        assert (await made[1].async_execute("cat mine.txt")).exit_code == 1
        assert len([pod for pod in pods(namespace) if pod["metadata"]["labels"].get("session") == mode]) == 2
        assert await sessions.release("user_1") and await sessions.cleanup_idle(max_idle=0) == 1
    until(lambda: not [pod for pod in pods(namespace) if pod["metadata"]["labels"].get("session") == mode])
