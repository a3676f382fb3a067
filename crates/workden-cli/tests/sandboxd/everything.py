"""Drives the unchanged client of sandboxd against a service of workden; prints the names of the parts that worked."""

from __future__ import annotations

import asyncio
import os
import uuid

import httpx
import pytest
from pydantic_ai.workspaces import Workspace, WorkspaceTimeoutError, WorkspaceUnavailableError
from pydantic_ai_backends.remote import WorkspaceArchive
from pydantic_ai_backends.remote.archive import WorkspaceArchiveError
from pydantic_ai_backends.workspaces import SandboxdWorkspace, SandboxdWorkspaceBackend

URL, TOKEN = os.environ["SANDBOXD_URL"], os.environ["SANDBOXD_TOKEN"]
HEADERS = {"X-Sandbox-Token": TOKEN}


def named(name: str | None = None) -> SandboxdWorkspaceBackend:
    return SandboxdWorkspaceBackend(URL, token=TOKEN, session_name=name)


async def runs() -> None:
    backend = SandboxdWorkspaceBackend(URL, token=TOKEN, env={"A": "1", "B": "1"})
    done = await backend.run('printf "$A$B"; printf err >&2; exit 4', shell=True, env={"B": "2"})
    assert (done.stdout, done.stderr, done.exit_code) == ("12", "err", 4)
    assert await backend.working_dir() == "/workspace"
    with pytest.raises(WorkspaceTimeoutError):
        await backend.run(["sleep", "3600"], timeout=0.5)
    # What the client reads stops at its limit, and the command with it.
    with pytest.raises(Exception, match="output"):
        await backend.run(["sh", "-c", "yes"], timeout=60)
    assert (await backend.run(["pgrep", "yes"])).exit_code == 1
    await backend.purge()


async def files() -> None:
    backend = named()
    content = bytes(range(256)) * 100
    await backend.write_bytes("/workspace/new/data.bin", content)
    assert await backend.read_bytes("/workspace/new/data.bin") == content
    entry = await backend.stat("/workspace/new/data.bin")
    assert (entry.name, entry.size, entry.is_dir) == ("data.bin", len(content), False)
    await backend.run(["ln", "-s", "new", "/workspace/link"])
    assert await backend.realpath("/workspace/link/data.bin") == "/workspace/new/data.bin"
    assert [(e.name, e.is_dir) for e in await backend.list_dir("/workspace")] == [("link", True), ("new", True)]
    # Of a link, the link is removed; and nothing above the working directory is.
    await backend.remove("/workspace/link")
    assert await backend.exists("/workspace/new/data.bin")
    for path in ("/workspace", "/", "/workspace/new/../../workspace"):
        with pytest.raises(ValueError):
            await backend.remove(path)
    with pytest.raises(FileNotFoundError):
        await backend.read_bytes("/workspace/../workspace/none")
    assert (await Workspace(backend).read_text("new/../new/data.bin", encoding="latin-1")).encode("latin-1") == content
    await backend.purge()


async def sessions() -> None:
    name = f"user-{uuid.uuid4().hex[:8]}"
    # Two clients at once open one session.
    one, other = named(name), named(name)
    await asyncio.gather(one.write_bytes("/workspace/a", b"1"), other.write_bytes("/workspace/b", b"2"))
    assert (one.ref, await one.read_bytes("/workspace/b")) == (other.ref, b"2")
    async with httpx.AsyncClient(base_url=URL, headers=HEADERS) as client:
        listed = (await client.get("/sessions", params={"usage": "true"})).json()
        mine = next(session for session in listed["sessions"] if session["session_id"] == name)
        assert mine["alive"] and mine["state"] == "running" and mine["usage"]["pids"] is not None
        # Closed without `purge`, it is gone for commands, and its files are there for the next to open it.
        assert (await client.delete(f"/sessions/{name}")).status_code == 204
        assert (await client.get(f"/sessions/{name}")).status_code == 404
        assert (await client.delete(f"/sessions/{name}")).status_code == 404
    with pytest.raises(WorkspaceUnavailableError):
        await one.run(["true"])
    again = SandboxdWorkspaceBackend(URL, token=TOKEN, ref=one.ref)
    assert await again.read_bytes("/workspace/a") == b"1"
    await again.purge()
    with pytest.raises(WorkspaceUnavailableError):
        await SandboxdWorkspaceBackend(URL, token=TOKEN, ref=one.ref).run(["true"])
    capability = SandboxdWorkspace(service_url=URL, token=TOKEN)
    backend = capability.backend()
    await backend.run(["true"])
    assert backend.ref is not None
    await capability.destroy(backend.ref)


async def events() -> None:
    backend = named()
    await backend.write_bytes("/workspace/x", b"")
    await backend.run(["echo", "told"])
    assert backend.ref is not None
    async with httpx.AsyncClient(base_url=URL, headers=HEADERS) as client:
        told = (await client.get(f"/sessions/{backend.ref.id}/events")).json()
        later = (await client.get(f"/sessions/{backend.ref.id}/events", params={"after": told["latest_seq"]})).json()
    runs = [event for event in told["events"] if event["op"] == "run"]
    assert "echo told" in runs[-1]["target"] and runs[-1]["ok"], told
    assert any(event["op"] == "write" and event["target"] == "/workspace/x" for event in told["events"]), told
    assert later == {"events": [], "latest_seq": told["latest_seq"]}
    await backend.purge()


async def archives() -> None:
    backend = named()
    await backend.write_bytes("/workspace/report.md", "é\nb\nc\n".encode())
    await backend.write_bytes("/workspace/deep/er/x", b"\xff")
    await backend.run(["ln", "-s", "/etc", "/workspace/out"])
    assert backend.ref is not None
    session = backend.ref.id

    def look() -> None:
        archive = WorkspaceArchive(URL, token=TOKEN)
        assert [entry["name"] for entry in archive.ls(session)] == ["deep", "out", "report.md"]
        assert archive.read(session, "/workspace/report.md", offset=1, limit=1) == "b\n"
        assert archive.read_bytes(session, "deep/er/x") == b"\xff"
        tree = archive.tree(session)
        paths = [entry["path"] for entry in tree.entries if not entry["path"].startswith("/workspace/out")]
        assert paths == ["/workspace/deep", "/workspace/report.md", "/workspace/deep/er", "/workspace/deep/er/x"], paths
        assert archive.tree(session, max_depth=1).truncated and archive.tree(session, max_entries=1).truncated
        assert not any(entry["path"].startswith("/workspace/out/") for entry in tree.entries)
        both = archive.trees([session, "no-such-session"])
        missing = both["no-such-session"]
        assert isinstance(missing, WorkspaceArchiveError) and missing.status_code == 404
        for path in ("/etc/passwd", "../../etc/passwd", "/workspace/../etc/passwd"):
            with pytest.raises(WorkspaceArchiveError) as refused:
                archive.read(session, path)
            assert refused.value.status_code == 400, (path, refused.value)

    await asyncio.to_thread(look)
    async with httpx.AsyncClient(base_url=URL, headers=HEADERS) as client:
        await client.delete(f"/sessions/{session}")
    # A closed session is read without starting it; a link out of it leads nowhere.
    await asyncio.to_thread(look)
    with pytest.raises(WorkspaceArchiveError):
        await asyncio.to_thread(WorkspaceArchive(URL, token=TOKEN).read, session, "out/passwd")
    await SandboxdWorkspaceBackend(URL, token=TOKEN, ref=backend.ref).purge()


async def refusals() -> None:
    async with httpx.AsyncClient(base_url=URL) as client:

        async def status(method: str, path: str, token: str | None, **more: object) -> int:
            headers = {} if token is None else {"X-Sandbox-Token": token}
            answer = await client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]
            if answer.status_code >= 400:
                assert "detail" in answer.json(), (path, answer.text)
            return answer.status_code

        mine = (await client.post("/sessions", headers=HEADERS, json={"session_id": "mine"})).json()
        other = (await client.post("/sessions", headers=HEADERS, json={"session_id": "other"})).json()
        run = {"argv": ["true"], "run_id": "0" * 32}
        for path in ("/sessions/mine", "/sessions/none"):
            assert await status("GET", path, None) == 401
            assert await status("GET", path, "wrong") == 401
        assert await status("POST", "/sessions/mine/run", mine["token"], json=run) == 200
        # The token of a session is for that session, and not for the service.
        assert await status("POST", "/sessions/other/run", mine["token"], json=run) == 404
        assert await status("GET", "/sessions/none", mine["token"]) == 404
        assert await status("POST", "/sessions", mine["token"], json={}) == 403
        assert await status("GET", "/policy", mine["token"]) == 403
        assert await status("POST", "/workspaces/other/ls", mine["token"], json={"path": "."}) == 403
        for body, expected in [
            ({"session_id": "mine"}, 409),
            ({"session_id": "mine", "reuse": True}, 200),
            ({"session_id": "mine", "reuse": True, "runtime": "other"}, 409),
            ({"session_id": "new", "attach": True}, 404),
            ({"attach": True}, 400),
            ({"runtime": "none"}, 400),
            ({"session_id": "../mine"}, 422),
            ({"session_id": "a" * 65}, 422),
            ({"tenant": "a/b"}, 422),
            ({"session_id": 1}, 422),
        ]:
            assert await status("POST", "/sessions", TOKEN, json=body) == expected, body
        for body in ({"argv": [], "run_id": "0" * 32}, {"argv": ["true"], "run_id": "x"}, {**run, "timeout_seconds": -1}):
            assert await status("POST", "/sessions/mine/run", TOKEN, json=body) == 422, body
        assert await status("POST", "/sessions/mine/run", TOKEN, content=b"{" * 100_000) in (400, 415, 422)
        large = {**run, "env": {"A": "x" * (17 << 20)}}
        assert await status("POST", "/sessions/mine/run", TOKEN, json=large) == 413
        assert await status("POST", "/sessions/mine/runs/x/stop", TOKEN) == 422
        assert await status("POST", f"/sessions/mine/runs/{'0' * 32}/stop", TOKEN) == 204
        for path, expected in [("relative", 400), ("/workspace/a/../b", 409), ("/workspace/\0", 400), ("/none", 404)]:
            assert await status("POST", "/sessions/mine/files/read", TOKEN, json={"path": path}) == expected, path
        assert await status("PUT", "/policy", TOKEN, json={"network_mode": "host"}) == 422
        assert await status("PUT", "/policy", TOKEN, json={"max_sessions_per_tenant": 1}) == 400
        assert await status("PUT", "/policy", TOKEN, json={}) == 200
        assert await status("GET", "/none", TOKEN) == 404
        assert (await client.get("/healthz")).json()["runtimes"] and (await client.get("/")).json()["health"]
        for session in (mine, other):
            name = session["session"]["session_id"]
            assert await status("DELETE", f"/sessions/{name}?purge=true", session["token"]) == 204


async def main() -> None:
    for part in (runs, files, sessions, events, archives, refusals):
        await asyncio.wait_for(part(), 300)
        print(part.__name__, flush=True)


asyncio.run(main())
