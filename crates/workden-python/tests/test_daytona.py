"""`DaytonaSandbox` at a stub of Daytona, whose sandboxes really run."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from waiting import until
from workden import _native
from workden.backends.base import BaseSandbox
from workden.backends.daytona import DaytonaSandbox
from workden.backends.docker.session import SessionManager
from workden.protocol import BackgroundSandboxProtocol

KEY = "dtn_python_tests"
# The parameters of pydantic-ai-backend 0.2.15 and their defaults.
OF_THE_REFERENCE = {"api_key": None, "sandbox_id": None, "work_dir": "/home/daytona", "startup_timeout": 180}
Make = Callable[..., DaytonaSandbox]


class Stub:
    """The stub, controlled over its own routes."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.removesuffix("/api") + path, data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or "null")

    def known(self) -> int:
        return self.ask("GET", "/stub/counters")["known"]


@pytest.fixture(scope="module")
def started() -> Iterator[Stub]:
    command = [os.environ["WORKDEN_DAYTONA_STUB"], "--port", "0", "--api-key", KEY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None and program.stdout is not None
        yield Stub(program.stdout.readline().strip())
        program.stdin.close()


@pytest.fixture
def stub(started: Stub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """The stub, named by the environment. Afterwards it has no sandbox."""
    monkeypatch.setenv("DAYTONA_API_URL", started.url)
    monkeypatch.setenv("DAYTONA_API_KEY", KEY)
    monkeypatch.setenv("DAYTONA_TARGET", "eu")
    started.ask("DELETE", "/stub/requests")
    yield started
    started.ask("DELETE", "/stub/faults")
    until(lambda: started.known() == 0)


@pytest.fixture
def make(stub: Stub) -> Iterator[Make]:
    """Makes sandboxes, and stops them afterwards."""
    made: list[DaytonaSandbox] = []

    def make(*arguments: Any, **options: Any) -> DaytonaSandbox:
        made.append(DaytonaSandbox(*arguments, **options))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.stop()


def test_parameters_are_those_of_the_reference() -> None:
    parameters = inspect.signature(DaytonaSandbox).parameters
    assert list(parameters)[: len(OF_THE_REFERENCE)] == [*OF_THE_REFERENCE]
    assert {name: parameters[name].default for name in OF_THE_REFERENCE} == OF_THE_REFERENCE
    assert all(each.kind is each.KEYWORD_ONLY for name, each in parameters.items() if name not in OF_THE_REFERENCE)


def test_a_key_is_required_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAYTONA_API_KEY", raising=False)
    with pytest.raises(ValueError, match="API key"):
        DaytonaSandbox()
    with pytest.raises(ValueError, match="API key") as raised:
        DaytonaSandbox("with a space")
    assert "with a space" not in str(raised.value)
    assert "dtn_secret" not in repr(DaytonaSandbox("dtn_secret"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "api"}, "invalid mode 'api': use 'keeper' or 'toolbox'"),
        ({"image": "a", "snapshot": "b"}, "not supported with `image`"),
        ({"memory": "2G"}, "not supported with a snapshot"),
        ({"image": "a", "memory": "1500M"}, "invalid memory"),
        ({"attach": "a", "image": "b"}, "not supported with `attach`"),
        ({"attach": ".."}, "invalid name"),
        ({"network": "some"}, "a Daytona sandbox"),
        ({"network": "none", "allowed_networks": ["10.0.0.0/8"]}, "allow_network"),
        ({"allowed_networks": "10.0.0.0/8"}, "must be a list"),
        ({"auto_stop_interval": -1}, "a Daytona sandbox"),
        ({"startup_timeout": -1}, "startup_timeout"),
    ],
)
def test_invalid_options_are_rejected(stub: Stub, options: dict[str, Any], says: str) -> None:
    with pytest.raises(Exception, match=re.escape(says)) as raised:
        DaytonaSandbox(**options)
    assert isinstance(raised.value, (ValueError, TypeError, RuntimeError, NotImplementedError))


def test_all_options_are_accepted(stub: Stub) -> None:
    DaytonaSandbox(
        api_url=stub.url, target="us", image="debian:12", user="me", env={"A": "b"}, labels={"team": "a"},
        memory="2G", disk=10 << 30, cpus=2, gpus=1, volumes={"v1": "/data"}, network="internet",
        allowed_networks=["10.0.0.0/8"], auto_stop_interval=5, auto_archive_interval=60, auto_delete_interval=0,
        delete_on_stop=False, mode="toolbox", sandbox_name="mine",
    )  # fmt: skip
    DaytonaSandbox(snapshot="s")
    with pytest.raises(_native.Failure, match="a Daytona sandbox"):
        _native.NativeWorkspace.daytona("{", _native.DaytonaStatus())


def check_files_and_commands(sandbox: DaytonaSandbox) -> None:
    """What every mode must do, as pydantic-ai-backend's console tools call it."""
    assert sandbox.write("a/one.txt", "one\ntwo\nthree\n").error is None
    assert sandbox.execute("cat a/one.txt").output == "one\ntwo\nthree\n"
    window = sandbox.read("/home/daytona/a/one.txt", 1, 1)
    assert "two" in window and "one" not in window
    assert "not found" in sandbox.read("none.txt")
    edited = sandbox.edit("a/one.txt", "two", "2")
    assert (edited.error, edited.occurrences) == (None, 1)
    sandbox.write("b.txt", b"caf\xc3\xa9\r\n")
    assert sandbox.read_bytes("b.txt") == b"caf\xc3\xa9\r\n"
    rows = sandbox.ls_info(".")
    assert [(row["name"], row["is_dir"]) for row in rows if row["name"] in ("a", "b.txt")] == [("a", True), ("b.txt", False)]
    assert [row["path"] for row in sandbox.glob_info("**/one.txt", ".")] == ["/home/daytona/a/one.txt"]
    assert "/home/daytona/a/one.txt" in [row["path"] for row in sandbox.glob_info("/home/**/one.txt")]
    found = sandbox.grep_raw("three", ".")
    assert [(match["path"], match["line_number"]) for match in found] == [("/home/daytona/a/one.txt", 3)]
    assert sandbox.exists("a/one.txt") and not sandbox.exists("none")
    failed = sandbox.execute("pwd; echo problem >&2; exit 3")
    assert (failed.output, failed.exit_code) == ("/home/daytona\nproblem\n", 3)
    assert sandbox.execute("sleep 60", timeout=1).exit_code == 124


@pytest.mark.parametrize("mode", ["keeper", "toolbox"])
def test_files_and_commands_work_in_each_mode(make: Make, stub: Stub, mode: Any) -> None:
    with make(mode=mode) as sandbox:
        assert (sandbox.name, sandbox.mode, sandbox.is_alive()) == (None, None, False)
        sandbox.start()
        assert sandbox.is_alive() and sandbox.mode == mode and sandbox.id == sandbox.session_id == sandbox.name
        check_files_and_commands(sandbox)
        assert mode in sandbox.isolation()["reached_by"]
    assert not sandbox.is_alive()
    until(lambda: stub.known() == 0)
    assert not any(KEY in json.dumps(seen) for seen in stub.ask("GET", "/stub/requests") if "/preview/" in seen["path"])


def test_only_the_import_changes(make: Make, stub: Stub) -> None:
    """A call of pydantic-ai-backend, with its options."""
    sandbox = make(KEY, "demo-1", "/home/daytona/work", 60)
    assert isinstance(sandbox, BaseSandbox) and isinstance(sandbox, BackgroundSandboxProtocol)
    assert (sandbox.id, sandbox.work_dir, sandbox.execute("pwd").output) == ("demo-1", "/home/daytona/work", "/home/daytona/work\n")
    assert (sandbox.mode, stub.known()) == ("keeper", 1)
    handle = sandbox.execute_background("echo started; sleep 60")
    until(lambda: "started" in sandbox.read_background(handle.shell_id).stdout)


def test_a_sandbox_is_found_by_its_name_and_by_its_id(make: Make, stub: Stub) -> None:
    first = make(sandbox_name="mine", env={"WHO": "first"}, delete_on_stop=False)
    first.write("a.txt", "kept")
    first.stop()
    second = make(sandbox_name="mine", env={"WHO": "second"}, delete_on_stop=False)
    assert second.execute("cat a.txt; echo $WHO").output == "keptsecond\n"
    assert (second.id, second.name) == (first.id, "mine")
    third = make(attach=first.id)
    assert third.read_bytes("a.txt") == b"kept" and stub.known() == 1
    third.stop()
    assert "gone" in second.execute("true").output


def test_a_start_that_fails_says_why_and_leaves_nothing(make: Make, stub: Stub) -> None:
    stub.ask("POST", "/stub/faults", {"route": "POST /sandbox", "times": 1, "kind": {"ends_in_error": {"reason": "no room"}}})
    with pytest.raises(RuntimeError, match="no room"):
        make().start()
    until(lambda: stub.known() == 0)
    wrong = make("dtn_wrong")
    with pytest.raises((RuntimeError, PermissionError), match="HTTP 401") as raised:
        wrong.start()
    assert "dtn_wrong" not in str(raised.value)
    assert wrong.execute("true").exit_code != 0 and wrong.glob_info("*") == []


async def test_sessions_are_sandboxes_of_their_own(make: Make, stub: Stub) -> None:
    def factory(session_id: str) -> DaytonaSandbox:
        return make(sandbox_id=session_id)

    async with SessionManager(sandbox_factory=factory) as sessions:
        made = await asyncio.gather(*(sessions.get_or_create(id) for id in ("one", "two", "one")))
        assert made[0] is made[2] and [each.id for each in made] == ["one", "two", "one"]
        await made[0].async_execute("echo mine > mine.txt")
        assert (await made[1].async_execute("cat mine.txt")).exit_code == 1
        assert stub.known() == 2
        assert await sessions.release("one") and await sessions.cleanup_idle(max_idle=0) == 1
    until(lambda: stub.known() == 0)
