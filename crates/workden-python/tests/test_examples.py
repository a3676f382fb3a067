"""The programs in examples/python run as a user would start them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples/python"
SAY = {
    "local_agent.py": (["--yes"], "0 1 1 2 3 5 8 13 21 34"),
    "read_only_agent.py": ([], "TODO: say hello"),
    "several_agents.py": ([], "--- tester\n42"),
    "data_analysis.py": ([], "- north: 22.50\n- south: 20.00"),
}
SERVED = "web_server.py"


def test_every_example_is_tried() -> None:
    assert {file.name for file in EXAMPLES.glob("[!_]*.py")} == {*SAY, SERVED}


@pytest.mark.parametrize("name", SAY)
def test_an_example_says_what_it_is_about(name: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKDEN_EXAMPLE_MODEL", raising=False)
    monkeypatch.setenv("TMPDIR", str(in_tmp))
    arguments, expected = SAY[name]
    ran = subprocess.run([sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert expected in ran.stdout
    assert list(in_tmp.iterdir()) == [], "it leaves something behind"


@pytest.fixture
def web_server(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import importlib

    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("web_server")


async def ask(port: int, line: str, body: str) -> tuple[str, dict[str, object]]:
    """Returns the status line and the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    head, _, answer = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return head.splitlines()[0], json.loads(answer)


@pytest.mark.parametrize("kind", ["linux", pytest.param("docker", marks=pytest.mark.docker)])
async def test_every_user_of_the_web_server_has_a_sandbox(kind: str, web_server: ModuleType, tmp_path: Path) -> None:
    if kind == "docker":
        from workden import DockerSandbox, SessionManager

        # Like `--docker`, with an image of these tests.
        sessions = SessionManager(sandbox_factory=lambda user: DockerSandbox("workden-test/python", session_id=user))
    else:
        sessions = web_server.manager(tmp_path, kind)
    server = await web_server.Server(sessions).serve(0)
    port = server.sockets[0].getsockname()[1]
    try:
        writes = "open('mine', 'w').write('here'); print(6 * 7)"
        looks = "import os; print(os.path.exists('mine'))"
        asked = [ask(port, "POST /run/anna", writes), ask(port, "POST /run/ben", looks)]
        for (status, answer), expected in zip(await asyncio.gather(*asked), ["42\n", "False\n"]):
            assert (status, answer) == ("HTTP/1.1 200 OK", {"output": expected, "exit_code": 0})
        assert (await ask(port, "POST /run/anna", looks))[1]["output"] == "True\n"
        assert sessions.session_count == 2
        for line in ["POST /run/../etc", "GET /", "POST /run/"]:
            assert (await ask(port, line, ""))[0] == "HTTP/1.1 404 Not Found"
    finally:
        server.close()
        await sessions.shutdown()
