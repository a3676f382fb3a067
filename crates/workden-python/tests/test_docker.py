"""`DockerSandbox` and sessions in containers, on a real daemon.

`cargo xtask docker` starts a daemon, with the images below.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import until, until_async
from workden import _native
from workden._runtime_config import RuntimeConfig
from workden.backends.base import BaseSandbox
from workden.backends.docker.sandbox import DockerSandbox
from workden.backends.docker.session import SessionManager
from workden.protocol import BackgroundSandboxProtocol

BUSYBOX = os.environ.get("WORKDEN_TEST_BUSYBOX", "workden-test/busybox")
PYTHON = os.environ.get("WORKDEN_TEST_PYTHON", "workden-test/python")


def docker(*words: str) -> str:
    """Returns the output of the daemon's own client."""
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def label() -> Iterator[dict[str, str]]:
    """A label for the containers of one test, all of which must be removed at its end."""
    name = f"workden-test-{uuid.uuid4().hex[:12]}"
    yield {name: "1"}
    left = _labelled(name)
    if left:
        docker("rm", "-f", *left)


def _labelled(label: dict[str, str] | str) -> list[str]:
    name = label if isinstance(label, str) else next(iter(label))
    return docker("ps", "-aq", "--filter", f"label={name}").split()


def inspected(label: dict[str, str]) -> dict[str, object]:
    return json.loads(docker("inspect", *_labelled(label)))[0]


def test_the_constructor_does_not_contact_the_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    sandbox = DockerSandbox()
    assert isinstance(sandbox, BackgroundSandboxProtocol) and isinstance(sandbox, BaseSandbox)
    assert (sandbox.work_dir, sandbox.runtime, sandbox.idle_timeout) == ("/workspace", None, 3600)
    assert sandbox.id == sandbox.session_id and len(sandbox.id) == 36
    assert DockerSandbox("x", "a", session_id="b").id == "b" and DockerSandbox("x", "a").id == "a"
    assert not sandbox.is_alive()
    with pytest.raises(RuntimeError, match="daemon"):
        sandbox.start()
    assert not sandbox.is_alive() and sandbox.execute("true").exit_code == 1
    assert sandbox.read("f").startswith("Error: ") and sandbox.write("f", "x").error
    sandbox.stop()
    runtime = DockerSandbox(runtime="node-react", work_dir="/else")
    assert runtime.work_dir == "/app" and runtime.runtime is not None and runtime.runtime.name == "node-react"
    with pytest.raises(KeyError, match="Unknown runtime 'cobol'"):
        DockerSandbox(runtime="cobol")
    with pytest.raises(ValueError, match="size"):
        DockerSandbox(memory="much")
    with pytest.raises(ValueError, match="lease"):
        DockerSandbox(lease=-1)
    with pytest.raises(ValueError):
        DockerSandbox(docker_host="gopher://x")


@pytest.mark.docker
def test_files_and_commands(label: dict[str, str]) -> None:
    with DockerSandbox(BUSYBOX, labels=label) as sandbox:
        assert _labelled(label) == []
        assert sandbox.write("it's a file.txt", "one\ntwo\n").path == "/workspace/it's a file.txt"
        assert sandbox.is_alive() and len(_labelled(label)) == 1
        assert sandbox.execute("pwd; cat *.txt").output == "/workspace\none\ntwo\n"
        assert sandbox.write("deep/bytes", bytes(range(256)) * 1000).error is None
        assert sandbox.read_bytes("/workspace/deep/bytes") == bytes(range(256)) * 1000
        assert sandbox.read("it's a file.txt") == "     1\tone\n     2\ttwo"
        assert sandbox.read("none") == "Error: File 'none' not found" and sandbox.read_bytes("none") == b""
        assert sandbox.edit("it's a file.txt", "two", "2").occurrences == 1
        assert sandbox.edit("it's a file.txt", "x", "y").error == "String 'x' not found in file"
        assert [info["name"] for info in sandbox.ls_info(".")] == ["deep", "it's a file.txt"]
        assert [info["path"] for info in sandbox.glob_info("workspace/*.txt")] == ["/workspace/it's a file.txt"]
        assert [info["path"] for info in sandbox.glob_info("**/bytes", ".")] == ["/workspace/deep/bytes"]
        assert sandbox.grep_raw("^2$") == [{"path": "/workspace/it's a file.txt", "line_number": 2, "line": "2"}]
        job = sandbox.execute_background("echo begun; sleep 60")
        assert sandbox.kill_background(job.shell_id)
        assert sandbox.execute("sleep 60", timeout=1).exit_code == 124
        assert sandbox.isolation()["level"] == "container" and sandbox.usage()["age"] > 0
    assert _labelled(label) == [] and not sandbox.is_alive()


@pytest.mark.docker
def test_options(label: dict[str, str], tmp_path: Path) -> None:
    data, made = tmp_path / "data", tmp_path / "made"
    data.mkdir()
    (data / "d").write_text("data")
    volume = f"workden-test-{uuid.uuid4().hex[:8]}"
    try:
        with DockerSandbox(
            BUSYBOX,
            work_dir="/somewhere",
            volumes={str(data): "/data:ro", made: "/made", volume: "/kept"},
            labels=label,
            env={"GREETING": "hello world"},
            memory="64M",
            swap=0,
            cpus=0.5,
            pids=50,
            tmpfs={"/scratch": "1M"},
            user="1000:1000",
            privileges="none",
            read_only_root=True,
            lease=60,
            build_network="none",
        ) as sandbox:
            assert sandbox.execute("pwd; id -u; echo $GREETING").output == "/somewhere\n1000\nhello world\n"
            assert sandbox.execute("cat /data/d").output == "data" and sandbox.execute("touch /data/x").exit_code != 0
            assert sandbox.execute("touch /x").exit_code != 0 and sandbox.execute("touch /scratch/x").exit_code == 0
            host = inspected(label)["HostConfig"]
            assert isinstance(host, dict)
            assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (64 << 20, 500_000_000, 50)
            assert host["NetworkMode"] == "none" and host["ReadonlyRootfs"] is True
            assert docker("volume", "ls", "-q", "--filter", f"name={volume}") == volume
            assert made.is_dir()
    finally:
        docker("volume", "rm", volume)


@pytest.mark.docker
def test_the_user_of_commands(label: dict[str, str], tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    work = tmp_path / "work"
    work.mkdir()
    os.chown(work, 1234, 1234)
    for user, expected in ((None, "1234\n"), ("", "0\n"), (77, "77\n"), ("nobody", "65534\n")):
        with DockerSandbox(BUSYBOX, volumes={work: "/workspace"}, labels=label, user=user) as sandbox:
            assert sandbox.execute("id -u").output == expected
    with DockerSandbox(BUSYBOX, labels=label, init="of_daemon", network_mode="host") as sandbox:
        told = sandbox.isolation()["lacking"]
        assert any("network" in each for each in told)


@pytest.mark.docker
def test_a_name_is_found_again(label: dict[str, str]) -> None:
    name = f"workden-test-{uuid.uuid4().hex[:12]}"
    first = DockerSandbox(BUSYBOX, container_name=name, labels=label)
    first.execute("echo kept > /var/f")
    second = DockerSandbox(BUSYBOX, container_name=name, labels=label)
    assert second.execute("cat /var/f").output == "kept\n" and len(_labelled(label)) == 1
    first.stop()
    assert not second.is_alive() and len(_labelled(label)) == 1
    assert first.execute("cat /var/f").output == "kept\n", "it is started again"
    first.stop()


@pytest.mark.docker
def test_one_that_is_kept(label: dict[str, str]) -> None:
    sandbox = DockerSandbox(BUSYBOX, auto_remove=False, labels=label)
    sandbox.start()
    sandbox.stop()
    assert len(_labelled(label)) == 1 and not sandbox.is_alive()


@pytest.mark.docker
def test_a_removed_container_can_be_started_again(label: dict[str, str]) -> None:
    with DockerSandbox(BUSYBOX, labels=label) as sandbox:
        sandbox.start()
        docker("rm", "-f", *_labelled(label))
        assert not sandbox.is_alive()
        assert "gone" in sandbox.execute("true").output
        sandbox.start()
        assert sandbox.is_alive() and sandbox.execute("echo there").output == "there\n"


@pytest.mark.docker
def test_an_unreferenced_container_is_removed(label: dict[str, str]) -> None:
    sandbox = DockerSandbox(BUSYBOX, labels=label)
    sandbox.start()
    del sandbox
    gc.collect()
    until(lambda: _labelled(label) == [])


@pytest.mark.docker
def test_a_runtime_is_built_once_and_its_steps_are_logged(
    label: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "workden")
    runtime = RuntimeConfig(
        name=f"test-{uuid.uuid4().hex[:8]}",
        base_image=PYTHON,
        setup_commands=["echo made > /made"],
        env_vars={"GREETING": "it's here"},
        work_dir="/app",
    )
    tag = _native.runtime_tag(runtime.model_dump_json())
    assert tag is not None
    images: set[str] = set()
    try:
        for _ in range(2):
            with DockerSandbox(runtime=runtime, labels=label) as sandbox:
                ran = sandbox.execute("pwd; cat /made; echo $GREETING; python3 -c 'print(6 * 7)'")
                assert ran.output == "/app\nmade\nit's here\n42\n"
            images.add(docker("images", "-q", tag))
        assert len(images) == 1
        steps = [said.getMessage() for said in caplog.records if said.levelno == logging.INFO]
        assert steps[0].startswith("step 1/") and sum("echo made" in step for step in steps) == 1
    finally:
        docker("rmi", "-f", tag)


@pytest.mark.docker
async def test_awaited(label: dict[str, str]) -> None:
    async with DockerSandbox(BUSYBOX, labels=label) as sandbox:
        await sandbox.async_start()
        assert await sandbox.async_is_alive()
        answers = await asyncio.gather(*(sandbox.async_execute(f"echo {n}") for n in range(20)))
        assert [answer.output for answer in answers] == [f"{n}\n" for n in range(20)]
        running = asyncio.create_task(sandbox.async_execute("touch begun; sleep 6000"))
        await until_async(lambda: sandbox.exists("begun"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert _labelled(label) == []


@pytest.mark.docker
async def test_sessions_in_containers(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)
    runtime = RuntimeConfig(name="x", image=BUSYBOX, work_dir="/app")
    async with SessionManager(default_runtime=runtime, default_idle_timeout=60, workspace_root=tmp_path / "all") as sessions:
        one, two = await asyncio.gather(sessions.get_or_create("one"), sessions.get_or_create("two"))
        assert one.idle_timeout == 60 and one.id == "one" and one.work_dir == "/app"
        assert (await one.async_execute("pwd; echo mine > f")).output == "/app\n"
        assert two.execute("ls").output == "" and (tmp_path / "all/one/workspace/f").read_text() == "mine\n"
        assert await sessions.release("one") and not one.is_alive()
        again = await sessions.get_or_create("one", runtime=RuntimeConfig(name="y", image=BUSYBOX))
        assert again is not one and again.execute("pwd; cat f").output == "/workspace\nmine\n"
    assert not two.is_alive() and not again.is_alive()


@pytest.mark.docker
async def test_sessions_without_a_directory() -> None:
    sessions = SessionManager()
    sessions._default_runtime = RuntimeConfig(name="x", image=BUSYBOX)
    sandbox = await sessions.get_or_create("s")
    assert sandbox.execute("pwd").output == "/workspace\n"
    assert await sessions.shutdown() == 1
