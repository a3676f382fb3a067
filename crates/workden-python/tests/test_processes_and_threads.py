"""Forks, signals, threads and tasks around a call."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import LONG, long_sleep, until, until_async, until_gone

from workden import LocalBackend, StateBackend, ensure_async


UNTIL_GO = "touch up; while [ ! -e go ]; do sleep 0.02; done"


def _child(backend: LocalBackend, results: multiprocessing.Queue) -> None:
    backend.write("child.txt", "from the child")
    results.put((backend.execute("echo child").output, backend.read("parent.txt")))


def test_a_forked_child_makes_its_own(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.write("parent.txt", "x")
    assert backend.execute("echo parent").output == "parent\n"
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue = context.Queue()
    children = [context.Process(target=_child, args=(backend, results)) for _ in range(2)]
    for child in children:
        child.start()
    assert [results.get(timeout=60) for _ in children] == [("child\n", "     1\tx")] * 2
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    # The parent's sandbox still works.
    assert backend.execute("cat child.txt").output == "from the child"


def test_a_child_of_a_child(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.execute("true")
    pid = os.fork()
    if pid == 0:
        backend.execute("true")
        grandchild = os.fork()
        if grandchild == 0:
            said = backend.execute("echo deep").output
            os._exit(0 if said == "deep\n" else 1)
        _, status = os.waitpid(grandchild, 0)
        os._exit(os.waitstatus_to_exitcode(status))
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_ctrl_c_interrupts_a_call_that_waits(tmp_path: Path) -> None:
    script = """
import sys
from workden import LocalBackend
backend = LocalBackend(sys.argv[1])
try:
    backend.execute(sys.argv[2])
except KeyboardInterrupt:
    print("interrupted", backend.execute("echo still works").output, flush=True)
"""
    sleep = long_sleep()
    program = [sys.executable, "-c", script, str(tmp_path), f"touch up; {sleep}"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    until((tmp_path / "up").exists)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "interrupted still works\n\n"
    until_gone(sleep)


def test_other_threads_go_on_while_one_waits(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.execute("true")
    waiting = threading.Thread(target=backend.execute, args=(UNTIL_GO,))
    waiting.start()
    # The command ends only if this thread runs meanwhile.
    until((tmp_path / "up").exists)
    assert waiting.is_alive()
    (tmp_path / "go").touch()
    waiting.join(120)
    assert not waiting.is_alive()


async def test_a_call_that_waits_may_be_made_where_a_loop_runs(tmp_path: Path) -> None:
    # As in a notebook: the loop is blocked meanwhile, and nothing breaks.
    backend = LocalBackend(tmp_path)
    assert backend.write("x", "1").error is None and backend.execute("cat x").output == "1"
    assert (await ensure_async(backend).read("x")) == "     1\t1"


async def test_the_loop_goes_on_while_a_call_is_awaited(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    running = asyncio.create_task(backend.async_execute(UNTIL_GO))
    # The command ends only if the loop runs meanwhile.
    await until_async((tmp_path / "up").exists)
    assert not running.done()
    (tmp_path / "go").touch()
    assert (await asyncio.wait_for(running, 120)).exit_code == 0


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("kind", ["local", "state"])
def test_many_threads_and_tasks_lose_no_edit(tmp_path: Path, kind: str) -> None:
    """With WORKDEN_TEST_LONG=1, a minute with 64 threads and 1,000 tasks."""
    backend = LocalBackend(tmp_path) if kind == "local" else StateBackend()
    path = "count.txt" if kind == "local" else "/count.txt"
    threads, tasks, seconds = (64, 1000, 60) if LONG else (16, 200, 0)
    backend.write(path, "".join(f"t{n}=0\n" for n in range(threads)) + "".join(f"a{n}=0\n" for n in range(tasks)))
    end = time.monotonic() + seconds
    done = [0] * threads
    begun = resident()

    def edits(nth: int) -> None:
        while done[nth] < 4 or time.monotonic() < end:
            edited = backend.edit(path, f"t{nth}={done[nth]}\n", f"t{nth}={done[nth] + 1}\n")
            assert edited.error is None, edited.error
            done[nth] += 1
            assert backend.exists(path) and backend.read(path, 0, 1)

    async def awaited() -> None:
        adapter = ensure_async(backend)

        async def one(nth: int) -> None:
            edited = await adapter.edit(path, f"a{nth}=0\n", f"a{nth}=1\n")
            assert edited.error is None, edited.error
            assert await adapter.exists(path)

        await asyncio.gather(*[one(nth) for nth in range(tasks)])

    with ThreadPoolExecutor(threads + 1) as pool:
        running = [pool.submit(edits, nth) for nth in range(threads)]
        running.append(pool.submit(lambda: asyncio.run(awaited())))
        for each in running:
            each.result(timeout=seconds + 240)
    text = backend.read_bytes(path).decode()
    assert text == "".join(f"t{n}={done[n]}\n" for n in range(threads)) + "".join(f"a{n}=1\n" for n in range(tasks))
    assert resident() - begun < 200 * 1024 * 1024


# A separate program: coverage has locks here, which a fork would leave locked.
_THREADS_AND_A_FORK = """
import os, sys, threading
from workden.permissions import PERMISSIVE_RULESET, PermissionChecker

asked = PermissionChecker(PERMISSIVE_RULESET)
wrong = []

def work(nth):
    for number in range(int(sys.argv[1])):
        if not asked.is_allowed("execute", f"echo {nth} {number % 50}") or not asked.is_denied("read", "/.env"):
            wrong.append(f"{nth} {number}")

threads = [threading.Thread(target=work, args=(nth,)) for nth in range(8)]
for thread in threads:
    thread.start()
child = os.fork()
if child == 0:
    os._exit(0 if asked.is_denied("execute", "rm -rf /") and asked.is_allowed("execute", "echo 1 1") else 1)
print("child:", os.waitpid(child, 0)[1])
for thread in threads:
    thread.join()
print("wrong:", wrong)
"""


def test_threads_and_forks_share_a_checker() -> None:
    # Newer Pythons warn of such forks.
    program = [sys.executable, "-Wignore", "-c", _THREADS_AND_A_FORK, "500" if LONG else "100"]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=240)
    assert (ran.stdout, ran.stderr) == ("child: 0\nwrong: []\n", "")
