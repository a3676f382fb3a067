"""`RemoteSandbox` at a real `workden serve`, whose sandboxes really run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from workden.backends.base import BaseSandbox
from workden.backends.docker.session import SessionManager
from workden.backends.remote import RemoteSandbox
from workden.permissions import READONLY_RULESET
from workden.protocol import BackgroundSandboxProtocol

Make = Callable[..., RemoteSandbox]


class Service:
    """A service, with its first key."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or "null")

    def sessions(self) -> list[str]:
        return [session["name"] for session in self.ask("GET", "/v1/sessions")["sessions"]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    state = tmp_path_factory.mktemp("service")
    command = [os.environ["WORKDEN_PROGRAM"], "serve", "--listen", "127.0.0.1:0", "--state", str(state)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        found: dict[str, str] = {}
        for line in program.stderr:
            for start in ("workden: serving ", "workden: your key, shown once: "):
                if line.startswith(start):
                    found[start] = line.removeprefix(start).strip()
            if len(found) == 2:
                break
        # Its log must not fill the pipe.
        threading.Thread(target=program.stderr.read, daemon=True).start()
        served = Service(*found.values())
        yield served
        for name in served.sessions():
            served.ask("DELETE", f"/v1/sessions/{name}")
        program.terminate()


@pytest.fixture
def make(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes sandboxes at the service that the environment names, and stops them afterwards."""
    monkeypatch.setenv("WORKDEN_URL", service.url)
    monkeypatch.setenv("WORKDEN_API_KEY", service.key)
    made: list[RemoteSandbox] = []

    def make(*arguments: Any, **options: Any) -> RemoteSandbox:
        made.append(RemoteSandbox(*arguments, **options))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.stop()


def test_what_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKDEN_URL", raising=False)
    with pytest.raises(ValueError, match="WORKDEN_URL"):
        RemoteSandbox()
    for wrong in [
        {"url": "ftp://127.0.0.1"},
        {"url": "http://127.0.0.1:1", "token": "a b"},
        {"url": "http://127.0.0.1:1", "session_id": "../x"},
        {"url": "http://127.0.0.1:1", "on_denied": "ask"},
    ]:
        with pytest.raises(ValueError, match="invalid"):
            RemoteSandbox(**wrong)  # type: ignore[arg-type]


def test_a_service_that_is_not_there_or_refuses_the_key_is_named(service: Service) -> None:
    with pytest.raises(Exception, match="the service cannot be reached"):
        RemoteSandbox("http://127.0.0.1:1").start()
    with pytest.raises(Exception, match="key"):
        RemoteSandbox(service.url, "e2b_" + "0" * 64).start()


def test_a_session_without_a_name_ends_with_its_sandbox(service: Service, make: Make) -> None:
    sandbox = make(env={"GREETING": "hello"}, memory="512M", pids=100)
    assert isinstance(sandbox, BaseSandbox) and isinstance(sandbox, BackgroundSandboxProtocol)
    assert not sandbox.is_alive() and service.sessions() == []
    assert sandbox.write("hello.py", "import os\nprint(os.environ['GREETING'])").error is None
    assert sandbox.execute("python3 hello.py && pwd").output.split() == ["hello", "/workspace"]
    assert sandbox.is_alive() and len(service.sessions()) == 1
    assert [info["path"] for info in sandbox.glob_info("*.py", ".")] == ["/workspace/hello.py"]
    assert sandbox.usage()["memory"] > 0 and sandbox.isolation()["level"] in ("namespaces", "landlock")
    sandbox.stop()
    assert not sandbox.is_alive() and service.sessions() == []
    # It is another session then.
    assert sandbox.execute("ls").output.strip() == ""


def test_a_session_with_a_name_is_shared_and_goes_on(service: Service, make: Make) -> None:
    one, other = make(session_id="shared"), make(session_id="shared")
    one.write("note.txt", "from one")
    assert "from one" in other.read("note.txt")
    assert one.id == one.session_id == "shared" and service.sessions() == ["shared"]
    handle = one.execute_background("echo started; sleep 600")
    one.stop()
    assert service.sessions() == ["shared"]
    assert other.execute("cat note.txt").output == "from one"
    again = make(session_id="shared")
    assert again.read("note.txt").endswith("from one") and handle.shell_id
    elsewhere = make(session_id="shared", work_dir="/home/user")
    with pytest.raises(Exception, match='pass work_dir="/workspace"'):
        elsewhere.start()
    service.ask("DELETE", "/v1/sessions/shared")
    assert not other.is_alive()


def test_the_directory_is_that_of_the_session(make: Make) -> None:
    sandbox = make(work_dir="/home/user")
    sandbox.write("a", "x")
    assert sandbox.work_dir == "/home/user" and sandbox.execute("pwd; ls /home/user").output == "/home/user\na\n"


def test_own_rules_hold_besides_those_of_the_service(service: Service, make: Make) -> None:
    sandbox = make(permissions=READONLY_RULESET)
    assert "denied" in (sandbox.write("a", "x").error or "").lower()
    made = service.ask("POST", "/v1/sessions", {"name": "strict", "policy": {"preset": "readonly"}})
    agent = make(token=made["token"], session_id="strict")
    with pytest.raises(Exception, match="API key"):
        agent.start()
    owner = make(session_id="strict")
    assert "denied" in (owner.write("a", "x").error or "").lower()


def test_options_that_the_service_refuses_are_in_its_words(make: Make) -> None:
    for options, word in [({"runtime": "missing"}, "runtime"), ({"network": "host"}, "network")]:
        with pytest.raises(Exception, match=word):
            make(**options).start()


def test_a_manager_makes_one_session_for_each_id(service: Service, make: Make) -> None:
    async def scenario() -> None:
        manager = SessionManager(sandbox_factory=lambda user: make(session_id=user))
        ann, bob = await asyncio.gather(manager.get_or_create("ann"), manager.get_or_create("bob"))
        assert ann is await manager.get_or_create("ann")
        assert (await ann.async_execute("echo $((6*7))")).output == "42\n"
        assert sorted({"ann", "bob"} & set(service.sessions())) == ["ann", "bob"]
        assert bob.is_alive()
        await manager.shutdown()

    asyncio.run(scenario())
    for name in ("ann", "bob"):
        service.ask("DELETE", f"/v1/sessions/{name}")


def test_a_child_process_has_a_connection_of_its_own(make: Make, tmp_path: Path) -> None:
    sandbox = make(session_id="forked")
    sandbox.write("a", "parent")
    child = os.fork()
    if child == 0:
        (tmp_path / "seen").write_text(sandbox.read("a"))
        os._exit(0)
    os.waitpid(child, 0)
    assert "parent" in (tmp_path / "seen").read_text()
