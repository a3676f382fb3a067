"""`SessionManager`, over sandboxes of other libraries and over those of workden."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import until_async

from workden import _native
from workden.backends.docker.session import SessionManager
from workden.backends.linux import LinuxSandbox


class Plain:
    """A sandbox that blocks while it starts, until it may go on."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()
        self.started = self.stopped = 0
        self.alive = False
        self.fails: str | None = None
        self.threads: set[int] = {threading.get_ident()}

    def start(self) -> None:
        self.threads.add(threading.get_ident())
        self.begun.set()
        assert self.may_go_on.wait(120), "the event loop stood still"
        self.started += 1
        if self.fails == "start":
            raise OSError("no room")
        self.alive = True

    def stop(self) -> None:
        self.threads.add(threading.get_ident())
        self.stopped += 1
        if self.fails in ("stop", "stop, ended"):
            self.alive = self.fails == "stop"
            raise OSError("cannot stop")
        self.alive = False

    def is_alive(self) -> bool:
        self.threads.add(threading.get_ident())
        if self.fails == "is_alive":
            raise OSError("unknown")
        return self.alive


class Awaited(Plain):
    """An async sandbox."""

    async def start(self) -> None:  # type: ignore[override]
        self.started += 1
        self.alive = True

    async def stop(self) -> None:  # type: ignore[override]
        self.stopped += 1
        self.alive = False

    async def is_alive(self) -> bool:  # type: ignore[override]
        return self.alive


async def of_plain(session_id: str) -> Plain:
    return Plain(session_id)


class Made:
    """A factory that records the sandboxes it made. With `held`, each blocks at its start."""

    def __init__(self, *, held: bool = False) -> None:
        self.held = held
        self.all: list[Plain] = []

    def __call__(self, session_id: str) -> Plain:
        sandbox = Plain(session_id)
        if self.held:
            sandbox.may_go_on.clear()
        self.all.append(sandbox)
        return sandbox

    async def starting(self, count: int) -> None:
        """Waits until so many sandboxes are starting."""
        await until_async(lambda: len(self.all) == count and all(sandbox.begun.is_set() for sandbox in self.all))

    def go_on(self) -> None:
        for sandbox in self.all:
            sandbox.may_go_on.set()


@pytest.mark.parametrize("factory", [Plain, Awaited, of_plain, lambda id: of_plain(id)])
async def test_any_factory_and_any_sandbox(factory: Any) -> None:
    sessions = SessionManager(factory)
    sandbox = await sessions.get_or_create("user-1")
    assert sandbox.started == 1 and await sessions.get_or_create("user-1") is sandbox and sandbox.started == 1
    assert "user-1" in sessions and "x" not in sessions and len(sessions) == sessions.session_count == 1
    copy = sessions.sessions
    copy.clear()
    assert sessions.sessions == {"user-1": sandbox}
    assert await sessions.release("user-1") is True and sandbox.stopped == 1
    assert await sessions.release("user-1") is False and len(sessions) == 0
    assert await sessions.shutdown() == 0


async def test_plain_code_never_runs_on_the_loop() -> None:
    made = Made(held=True)
    async with SessionManager(made) as sessions:
        opening = [asyncio.create_task(sessions.get_or_create(f"s{n}")) for n in range(4)]
        # All of them start at once, and go on only because the loop runs.
        await made.starting(4)
        made.go_on()
        await asyncio.gather(*opening)
        await sessions.get_or_create("s0")
    for sandbox in made.all:
        assert threading.get_ident() not in sandbox.threads and sandbox.stopped == 1


async def test_many_callers_start_one() -> None:
    made = Made(held=True)
    sessions = SessionManager(made)
    opening = [asyncio.create_task(sessions.get_or_create("s")) for _ in range(50)]
    await made.starting(1)
    made.go_on()
    found = await asyncio.gather(*opening)
    assert len({id(sandbox) for sandbox in found}) == 1 and len(made.all) == 1 and made.all[0].started == 1
    await sessions.shutdown()


async def test_a_caller_who_stops_waiting_takes_nothing_away() -> None:
    made = Made(held=True)
    sessions = SessionManager(made)
    first = asyncio.create_task(sessions.get_or_create("s"))
    second = asyncio.create_task(sessions.get_or_create("s"))
    await made.starting(1)
    first.cancel()
    made.go_on()
    assert await second is made.all[0] and len(made.all) == 1
    alone = asyncio.create_task(sessions.get_or_create("alone"))
    await made.starting(2)
    alone.cancel()
    ending = asyncio.create_task(sessions.shutdown())
    made.go_on()
    assert await ending == 2, "a shutdown waits for sandboxes that are starting"
    assert [sandbox.stopped for sandbox in made.all] == [1, 1]


async def test_releasing_what_is_being_started() -> None:
    made = Made(held=True)
    sessions = SessionManager(made)
    starting = asyncio.create_task(sessions.get_or_create("s"))
    await made.starting(1)
    releasing = asyncio.create_task(sessions.release("s"))
    await asyncio.sleep(0)
    made.go_on()
    assert await releasing is True
    with pytest.raises(RuntimeError, match="was ended while it started"):
        await starting
    assert made.all[0].stopped == 1 and "s" not in sessions


async def test_a_dead_sandbox_is_stopped_and_replaced(caplog: pytest.LogCaptureFixture) -> None:
    made = Made()
    sessions = SessionManager(made)
    first = await sessions.get_or_create("s")
    first.alive = False
    second = await sessions.get_or_create("s")
    assert second is not first and first.stopped == 1
    second.fails = "is_alive"
    assert await sessions.get_or_create("s") is made.all[2] and second.stopped == 1
    made.all[2].fails, made.all[2].alive = "stop", False
    with caplog.at_level(logging.WARNING, "workden"):
        assert await sessions.get_or_create("s") is made.all[3]
    assert "cannot stop a sandbox of session" in caplog.text


async def test_a_start_that_fails_is_told_and_leaves_nothing() -> None:
    made = Made()
    sessions = SessionManager(made)

    def failing(session_id: str) -> Plain:
        sandbox = made(session_id)
        sandbox.fails = "start" if len(made.all) == 1 else None
        return sandbox

    sessions._sandbox_factory = failing
    with pytest.raises(OSError, match="no room"):
        await sessions.get_or_create("s")
    assert "s" not in sessions and made.all[0].stopped == 1
    assert await sessions.get_or_create("s") is made.all[1]
    sessions._sandbox_factory = None
    with pytest.raises(KeyError, match="Unknown runtime"):
        await sessions.get_or_create("other", runtime="cobol")


async def test_a_stop_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    made = Made()
    sessions = SessionManager(made)
    one, two = await sessions.get_or_create("one"), await sessions.get_or_create("two")
    one.fails = "stop"
    with pytest.raises(OSError, match="cannot stop"):
        await sessions.release("one")
    assert "one" in sessions, "it is still alive"
    with caplog.at_level(logging.WARNING, "workden"):
        assert await sessions.shutdown() == 1
    assert two.stopped == 1 and "cannot end session one" in caplog.text
    one.fails = "stop, ended"
    assert await sessions.release("one") is True and len(sessions) == 0


async def test_idle_sessions() -> None:
    sessions = SessionManager(Made(), default_idle_timeout=100)
    plain, own, told = [await sessions.get_or_create(name) for name in ("plain", "own", "told")]
    own.idle_timeout = 10
    now = time.time()
    plain._last_activity = own._last_activity = now - 50
    assert await sessions.cleanup_idle() == 1 and "own" not in sessions and own.stopped == 1
    assert await sessions.cleanup_idle(max_idle=40) == 1 and plain.stopped == 1
    del told._last_activity
    assert await sessions.cleanup_idle() == 0
    sessions._used["told"] = now - 200
    assert await sessions.cleanup_idle() == 1 and told.stopped == 1
    assert await sessions.cleanup_idle(max_idle=0) == 0


async def test_a_sandbox_without_a_time_of_use() -> None:
    class Slotted:
        __slots__ = ()

        def start(self) -> None: ...
        def stop(self) -> None: ...
        def is_alive(self) -> bool:
            return True

    sessions = SessionManager(lambda _: Slotted())
    await sessions.get_or_create("s")
    assert await sessions.cleanup_idle(60) == 0
    sessions._used["s"] -= 100
    await sessions.get_or_create("s")
    assert await sessions.cleanup_idle(60) == 0 and "s" in sessions


async def test_one_that_is_used_again_in_time_stays() -> None:
    sessions = SessionManager(Made())
    sandbox = await sessions.get_or_create("s")
    sandbox._last_activity = 0
    used = asyncio.create_task(sessions.get_or_create("s"))
    await asyncio.sleep(0)
    assert await sessions.cleanup_idle(10) == 0 and sandbox.stopped == 0
    assert await used is sandbox


async def test_the_loop_goes_on_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    sessions = SessionManager(Made(), default_idle_timeout=0.01)
    await sessions.get_or_create("s")
    looked = 0
    real = sessions.cleanup_idle

    async def failing(max_idle: float | None = None) -> int:
        nonlocal looked
        looked += 1
        if looked == 1:
            raise OSError("once")
        return await real(max_idle)

    sessions.cleanup_idle = failing  # type: ignore[method-assign]
    sessions.start_cleanup_loop(interval=0.02)
    task = sessions._cleanup_task
    sessions.start_cleanup_loop(interval=0.02)
    assert sessions._cleanup_task is task
    with caplog.at_level(logging.ERROR, "workden"):
        await until_async(lambda: "s" not in sessions)
    assert "cleanup of idle sessions failed" in caplog.text
    sessions.stop_cleanup_loop()
    sessions.stop_cleanup_loop()
    assert task is not None
    await asyncio.wait([task], timeout=60)
    assert task.cancelled()


def test_one_manager_in_one_loop_after_the_other() -> None:
    made = Made()
    sessions = SessionManager(made)

    async def main() -> None:
        sessions.start_cleanup_loop()
        await asyncio.gather(*(sessions.get_or_create("s") for _ in range(10)))

    asyncio.run(main())
    asyncio.run(main())
    assert len(made.all) == 1
    assert asyncio.run(sessions.shutdown()) == 1


@pytest.mark.parametrize("bad", ["", "..", "../x", "a/b", "-x", ".x", "a b", "x" * 65, "a\n", "é"])
async def test_ids_are_names_of_directories_and_never_paths(bad: str, tmp_path: Path) -> None:
    made = Made()
    with pytest.raises(ValueError, match="invalid session id"):
        await SessionManager(made).get_or_create(bad)
    assert made.all == []
    with pytest.raises(_native.Failure):
        _native.session_workspace(tmp_path / "root", bad)
    assert list(tmp_path.iterdir()) == []


def test_directories_of_sessions(tmp_path: Path) -> None:
    made = Path(_native.session_workspace(tmp_path / "root", "user-1"))
    assert made == tmp_path / "root" / "user-1" / "workspace" and made.is_dir()
    (tmp_path / "root" / "evil").symlink_to(tmp_path)
    with pytest.raises(_native.Failure) as raised:
        _native.session_workspace(tmp_path / "root", "evil")
    assert raised.value.kind == "escapes" and not (tmp_path / "workspace").exists()


async def test_linux_sandboxes(tmp_path: Path) -> None:
    async with SessionManager(lambda id: LinuxSandbox(tmp_path / id, session_id=id)) as sessions:
        all = await asyncio.gather(*(sessions.get_or_create(f"user-{n}") for n in range(4)))
        answers = await asyncio.gather(*(sandbox.async_execute("pwd; touch mine") for sandbox in all))
        assert [answer.output for answer in answers] == ["/workspace\n"] * 4
        assert sorted(path.name for path in tmp_path.glob("*/mine")) == ["mine"] * 4
        all[0].stop()
        anew = await sessions.get_or_create("user-0")
        assert anew is not all[0] and anew.execute("ls").output == "mine\n"
        running = asyncio.create_task(anew.async_execute("touch up; while [ ! -e go ]; do sleep 0.02; done"))
        await until_async((tmp_path / "user-0/up").exists)
        ended = 0

        async def all_but_one() -> bool:
            nonlocal ended
            ended += await sessions.cleanup_idle(0.25)
            return ended >= 3

        await until_async(all_but_one)
        assert ended == 3 and list(sessions.sessions) == ["user-0"], "one has a running command"
        (tmp_path / "user-0/go").touch()
        assert (await running).exit_code == 0
    assert len(sessions) == 0 and not anew.is_alive()
