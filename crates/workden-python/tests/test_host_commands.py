"""Commands on the host under interference: forks at the wrong moment, kills, stops, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import LONG, until

from workden import LinuxSandbox, LocalBackend
from workden._native import Failure, NativeWorkspace

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")

KEEPER = "$(cut -d' ' -f4 /proc/$PPID/stat)"


def native(backend: LocalBackend) -> NativeWorkspace:
    return backend._native  # type: ignore[no-any-return]


def test_a_fork_at_any_moment_hides_no_end(tmp_path: Path) -> None:
    backend, over, answers = LocalBackend(tmp_path), threading.Event(), list[int | None]()

    def work() -> None:
        while not over.is_set():
            answers.append(backend.execute("kill -9 $PPID; sleep 900").exit_code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    forked = list[int]()
    try:
        for thread in threads:
            thread.start()
        for _ in range(40 if LONG else 15):
            forked.append(os.fork())
            if forked[-1] == 0:
                time.sleep(600)
                os._exit(0)
            time.sleep(0.01)
        over.set()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        assert answers and set(answers) == {137}
    finally:
        for child in forked:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_a_command_that_stops_the_keeper_holds_up_no_other_command(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    keeper = int(backend.execute(f"echo {KEEPER}; kill -STOP {KEEPER}").output)
    assert backend.execute("echo on").output == "on\n"
    native(backend).stop()
    until(lambda: not Path(f"/proc/{keeper}").exists())


def test_a_keeper_that_is_stopped_ends_with_its_sandbox(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    keeper = int(backend.execute(f"echo {KEEPER}").output)
    os.kill(keeper, signal.SIGSTOP)
    native(backend).stop()
    until(lambda: not Path(f"/proc/{keeper}").exists())


def test_ctrl_c_lets_a_command_say_goodbye(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    line = "trap 'echo bye; sleep 0.2; echo bye; touch cleaned; exit' TERM; touch up; while :; do sleep 0.05; done"

    def press() -> None:
        until((tmp_path / "up").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        backend.execute(line)
    until((tmp_path / "cleaned").exists)


def test_bytes_are_asked_about_once(tmp_path: Path) -> None:
    asked = list[str]()

    def ask(operation: str, _target: str, _reason: str) -> bool:
        asked.append(operation)
        return True

    rules: Any = {"default": "allow", "read": {"default": "ask"}}
    for make in (LocalBackend, LinuxSandbox):
        with make(tmp_path, permissions=rules, ask_callback=ask) as backend:
            backend.write("a.txt", "text")
            asked.clear()
            assert backend.read_bytes("a.txt") == b"text"
            assert asked == ["read"]


def test_an_error_of_the_disk_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = LocalBackend(tmp_path)
    backend.write("a.txt", "text")

    def broken(_file: int, _length: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", broken)
    assert backend.read_bytes("a.txt") == b""
    with pytest.raises(Failure, match="cannot read"):
        native(backend).read_bytes(str(tmp_path / "a.txt"))


def test_a_file_that_is_shorter_by_now_is_read_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = LocalBackend(tmp_path)
    backend.write("a.txt", "0123456789")
    read, pieces = os.read, [4, 3]

    def shrinking(file: int, length: int) -> bytes:
        return read(file, min(length, pieces.pop(0))) if pieces else b""

    monkeypatch.setattr(os, "read", shrinking)
    assert backend.read_bytes("a.txt") == b"0123456"
