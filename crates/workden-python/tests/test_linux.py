"""`LinuxSandbox` on the real kernel."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import children, timed_out, until, until_async
from workden import _native
from workden.backends import linux
from workden.backends.base import BaseSandbox
from workden.backends.linux import LinuxSandbox
from workden.permissions import DEFAULT_RULESET, STRICT_RULESET, PermissionAskError
from workden.protocol import BackgroundSandboxProtocol


def test_files_and_commands_see_the_same() -> None:
    with LinuxSandbox(sandbox_id="one") as sandbox:
        assert isinstance(sandbox, BackgroundSandboxProtocol) and isinstance(sandbox, BaseSandbox)
        assert (sandbox.id, sandbox.session_id, sandbox.work_dir, sandbox.root_dir) == ("one", "one", "/workspace", None)
        assert not sandbox.is_alive()
        assert sandbox.write("it's a file.txt", "one\ntwo\n").path == "/workspace/it's a file.txt"
        assert sandbox.is_alive()
        assert sandbox.execute("pwd; cat *.txt").output == "/workspace\none\ntwo\n"
        assert sandbox.execute("echo three > made.txt").exit_code == 0
        assert sandbox.read("made.txt") == "     1\tthree"
        assert [info["name"] for info in sandbox.ls_info(".")] == ["it's a file.txt", "made.txt"]
        assert [info["path"] for info in sandbox.glob_info("*.txt")] == [
            "/workspace/made.txt",
            "/workspace/it's a file.txt",
        ]
        assert sandbox.grep_raw("tw") == [{"path": "/workspace/it's a file.txt", "line_number": 2, "line": "two"}]
        assert sandbox.edit("made.txt", "three", "3").occurrences == 1
        assert sandbox.read("none.txt") == "Error: File 'none.txt' not found"
    assert not sandbox.is_alive()


def test_it_is_a_wall(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with LinuxSandbox() as sandbox:
        assert sandbox.execute(f"cat {secret}").exit_code != 0
        assert sandbox.read(str(secret)).startswith("Error: ")
        assert "HOME=/home/agent" in sandbox.execute("env").output and "WORKDEN_PROGRAM" not in sandbox.execute("env").output
        told = sandbox.isolation()
        assert told["level"] == "namespaces" and "network_namespace" in told["walls"]


def test_options(tmp_path: Path) -> None:
    work, data, single = tmp_path / "new" / "work", tmp_path / "data", tmp_path / "file"
    data.mkdir()
    (data / "d").write_text("data")
    single.write_text("single")
    with LinuxSandbox(
        work,
        session_id="s",
        volumes={data: "/data:ro", str(single): "/file:rw", str(tmp_path / "made"): "/made"},
        env={"GREETING": "hello world"},
        pass_env=["WORKDEN_TEST_PASSED"],
        memory="128M",
        cpus=1.5,
        pids=64,
        open_files=128,
        file_size="1M",
        tmp_size=1024 * 1024,
        lifetime=600,
        end_when_idle=300,
        read_only=["/workspace/fixed"],
        masked=["/workspace/hidden"],
        toolchains=(),
    ) as sandbox:
        for name in ("fixed", "hidden"):
            (work / name).mkdir()
            (work / name / "f").write_text("there")
        assert (sandbox.id, sandbox.root_dir) == ("s", work)
        assert sandbox.execute("cat /data/d /file; echo $GREETING").output == "datasinglehello world\n"
        assert sandbox.execute("touch /data/x").exit_code != 0 and sandbox.write("/data/x", "").error
        assert sandbox.execute("touch /made/x x").exit_code == 0 and (work / "x").exists()
        assert (tmp_path / "made" / "x").exists()
        assert sandbox.execute("cat fixed/f").output == "there" and sandbox.execute("touch fixed/g").exit_code != 0
        assert sandbox.execute("cat hidden/f").exit_code != 0
        assert sandbox.execute("ulimit -n").output == "128\n"
        assert sandbox.execute("head -c 2000000 /dev/zero > big").exit_code != 0
        limits = {limit["limit"]: limit["value"] for limit in sandbox.isolation()["limits"]}
        assert limits["memory"] == "128 MB" and limits["processes"] == "64" and limits["wall_clock"]
        used = sandbox.usage()
        assert used["age"] > 0 and used["jobs"] == 0


def test_passed_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKDEN_TEST_PASSED", "yes")
    with LinuxSandbox(pass_env=["WORKDEN_TEST_PASSED"], best_effort=True) as sandbox:
        assert sandbox.execute("echo $WORKDEN_TEST_PASSED").output == "yes\n"


def test_toolchains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with LinuxSandbox() as sandbox:
        assert sandbox.execute("python3 -c 'print(6 * 7)'").output == "42\n"
    with pytest.raises(ValueError, match="no toolchain"):
        LinuxSandbox(toolchains=["cobol"]).start()

    def none(name: str) -> None:
        raise _native.Failure(name)

    monkeypatch.setattr(_native, "check_toolchain", none)
    assert linux._usual_toolchains() == ()


def test_a_root_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    subprocess.run(["cp", "/bin/busybox", root / "bin/sh"], check=True)
    with LinuxSandbox(root_files=root) as sandbox:
        assert sandbox.execute("echo $((6 * 7)); ls /bin").output == "42\nsh\n"


def test_invalid_options_are_rejected() -> None:
    with pytest.raises(ValueError, match="size"):
        LinuxSandbox(memory="much")
    with pytest.raises(ValueError, match="network_mode"):
        LinuxSandbox(network_mode="bridge")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wall_clock"):
        LinuxSandbox(lifetime=-1)
    with pytest.raises(ValueError, match="NUL"):
        LinuxSandbox(masked=["a\0b"])


def test_a_start_that_fails(tmp_path: Path) -> None:
    rootless = LinuxSandbox(root_files=tmp_path / "none")
    with pytest.raises(RuntimeError, match="no such file"):
        rootless.start()
    assert rootless.execute("true").output.startswith("Error: ") and not rootless.is_alive()
    for ask in (rootless.usage, rootless.isolation):
        with pytest.raises(RuntimeError):
            ask()


def test_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "program", lambda: None)
    with pytest.raises(RuntimeError, match="program `workden`"):
        LinuxSandbox()


def test_landlock() -> None:
    with tempfile.TemporaryDirectory() as place, LinuxSandbox(place, level="landlock", toolchains=()) as sandbox:
        if os.geteuid() == 0:
            # Commands never run as root: they run as the owner of the directory.
            os.chown(place, 65534, 65534)
        assert sandbox.work_dir == "/" and sandbox.write("f", "x").path == "/f"
        assert sandbox.execute("cat f").output == "x" and sandbox.isolation()["level"] == "landlock"


def test_the_files_that_git_runs_are_held(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    hook = ".git/hooks/pre-commit"
    with LinuxSandbox(tmp_path) as sandbox:
        assert sandbox.execute(f"echo x > {hook}").exit_code != 0 and sandbox.write(hook, "x").error
    with LinuxSandbox(tmp_path, git_files="writable") as sandbox:
        assert sandbox.execute(f"echo x > {hook}").exit_code == 0 and sandbox.write(hook, "x").error is None


def test_jobs_timeouts_and_what_is_left() -> None:
    with LinuxSandbox() as sandbox:
        job = sandbox.execute_background("echo begun; sleep 6000")
        heard: list[str] = []
        until(lambda: heard.append(sandbox.read_background(job.shell_id).stdout) or heard[-1])
        assert heard[-1] == "begun\n" and sandbox.list_background()[0].running
        assert sandbox.kill_background(job.shell_id) and not sandbox.list_background()[0].running
        timed = timed_out(lambda seconds: sandbox.execute("echo partly; sleep 6000", timeout=seconds), "partly")
        assert timed.exit_code == 124 and timed.output.startswith("partly\n")


def test_it_starts_once_more_after_its_end(tmp_path: Path) -> None:
    sandbox = LinuxSandbox(tmp_path)
    sandbox.start()
    sandbox.start()
    sandbox.write("f", "kept")
    sandbox.stop()
    sandbox.stop()
    assert not sandbox.is_alive()
    assert sandbox.execute("cat f").output == "kept" and sandbox.is_alive()
    sandbox.stop()


@contextlib.contextmanager
def killed() -> Iterator[None]:
    """Kills the sandboxes that were started in this block."""
    before = children()
    yield
    started = children() - before
    assert started
    for pid in started:
        os.kill(pid, signal.SIGKILL)


def test_one_that_outlived_its_time_ends_by_itself() -> None:
    with LinuxSandbox(lifetime=1) as sandbox:
        sandbox.start()
        until(lambda: not sandbox.is_alive())


def test_one_that_ended_by_itself_can_be_started(tmp_path: Path) -> None:
    with LinuxSandbox(tmp_path) as sandbox:
        with killed():
            sandbox.start()
        until(lambda: not sandbox.is_alive())
        assert "gone" in sandbox.execute("true").output
        sandbox.start()
        assert sandbox.is_alive()


async def test_awaited(tmp_path: Path) -> None:
    async with LinuxSandbox(tmp_path) as sandbox:
        with killed():
            await sandbox.async_start()
            assert await sandbox.async_is_alive()
            assert (await sandbox.async_execute("echo $((6 * 7))")).output == "42\n"
            running = asyncio.create_task(sandbox.async_execute("echo x > begun; sleep 6000; echo x > ended"))
            await until_async((tmp_path / "begun").exists)
            assert sandbox.idle_for() == 0.0
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

        async def has_ended() -> bool:
            return not await sandbox.async_is_alive()

        await until_async(has_ended)
        await sandbox.async_start()
        assert await sandbox.async_is_alive()
    assert not await sandbox.async_is_alive()
    with pytest.raises(ValueError, match="no toolchain"):
        await LinuxSandbox(toolchains=["cobol"]).async_start()


def test_when_it_was_used() -> None:
    with LinuxSandbox(idle_timeout=7) as sandbox:
        assert sandbox.idle_timeout == 7
        sandbox._last_activity = 5.0
        assert sandbox._last_activity == 5.0
        sandbox.is_alive()
        assert sandbox._last_activity == 5.0
        assert sandbox.idle_for() > 1000
        sandbox.exists("f")
        assert abs(sandbox._last_activity - time.time()) < 60
        time.sleep(0.2)
        assert 0.1 < sandbox.idle_for() < 60
        sandbox._last_activity = 5.0
        assert 0.1 < sandbox.idle_for() < 60, "the sandbox itself knows"
        job = sandbox.execute_background("sleep 60")
        assert sandbox.idle_for() == 0.0 and sandbox.kill_background(job.shell_id)


def _in_child(sandbox: LinuxSandbox, told: multiprocessing.connection.Connection) -> None:  # type: ignore[name-defined]
    told.send(sandbox.execute("touch child; ls | wc -l").output.strip())
    sandbox.stop()
    os._exit(0)


def test_a_forked_child_has_its_own() -> None:
    with LinuxSandbox() as sandbox:
        assert sandbox.execute("touch parent; ls").output == "parent\n"
        hears, told = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=_in_child, args=(sandbox, told))
        child.start()
        assert hears.poll(120) and hears.recv() == "1"
        child.join(120)
        assert sandbox.is_alive() and sandbox.execute("ls").output == "parent\n"


def test_many_threads() -> None:
    with LinuxSandbox() as sandbox:
        sandbox.write("f", "".join(f"<{n}>" for n in range(32)))
        done: list[bool] = []

        def work(n: int) -> None:
            ran = sandbox.execute(f"echo {n}").output == f"{n}\n"
            done.append(ran and sandbox.edit("f", f"<{n}>", f"[{n}]").occurrences == 1)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert done == [True] * 32 and "<" not in sandbox.read_bytes("f").decode()


def test_a_native_workspace_goes_on_after_the_end_of_its_sandbox(tmp_path: Path) -> None:
    with LinuxSandbox(tmp_path) as sandbox:
        sandbox.write("f", "kept")
        native = sandbox._native
        sandbox.stop()
        assert not native.is_alive() and native.execute("cat f")[0] == "kept" and sandbox.is_alive()


def test_a_stop_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    class Stuck:
        def end(self) -> None:
            raise _native.Failure("no answer")

        async def end_async(self) -> None:
            self.end()

        def is_alive(self) -> bool:
            return True

        def usage(self) -> str:
            raise _native.Failure("gone meanwhile")

    sandbox = LinuxSandbox()
    monkeypatch.setattr(sandbox, "_current", Stuck())
    sandbox.stop()
    asyncio.run(sandbox.async_stop())
    assert caplog.text.count("its keeper will end it: no answer") == 2
    sandbox._last_activity = time.time() - 100
    assert sandbox.idle_for() >= 100


def test_rules_hold_for_files_and_for_commands(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=secret")
    (tmp_path / "f").write_text("plain")
    asked: list[tuple[str, str]] = []

    def ask(operation: str, target: str, reason: str) -> bool:
        asked.append((operation, target))
        return "yes" in target

    with LinuxSandbox(tmp_path, permissions=DEFAULT_RULESET, ask_callback=ask) as sandbox:
        assert sandbox.read("f") == "     1\tplain"
        assert sandbox.read(".env").startswith("Error: Permission denied")
        assert sandbox.execute("cat f # yes").output == "plain"
        assert "KEY" not in sandbox.execute("cat .env # yes").output
        refused = sandbox.execute("cat f # no")
        assert refused.exit_code == 1 and refused.output.startswith("Error: Permission denied")
        assert asked[0] == ("execute", "cat f # yes")
    with LinuxSandbox(tmp_path, permissions=STRICT_RULESET) as sandbox:
        with pytest.raises(PermissionAskError):
            sandbox.read("f")
    with LinuxSandbox(tmp_path, permissions=STRICT_RULESET, ask_fallback="deny") as sandbox:
        assert sandbox.read("f").startswith("Error: Permission denied") and sandbox.ls_info(".") == []
