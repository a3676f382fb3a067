"""A web server with one sandbox per user, with `SessionManager`.

    python examples/python/web_server.py [--docker] [PORT]

    curl -d 'print(6 * 7)' localhost:8000/run/anna

Files in a user's directory persist. Unused sandboxes are ended. With `--docker` sessions are containers; without it
they are Linux sandboxes, which need no daemon.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path

from workden import LinuxSandbox, SessionManager

USER = re.compile(r"POST /run/([A-Za-z0-9][A-Za-z0-9_-]{0,63}) HTTP/1\.[01]")
MOST_BYTES = 1_000_000


def manager(workspaces: Path, kind: str) -> SessionManager:
    """Creates one sandbox per user, with a persistent directory."""
    if kind == "docker":
        return SessionManager(default_runtime="python-minimal", workspace_root=workspaces)

    def sandbox_for(user: str) -> LinuxSandbox:
        return LinuxSandbox(workspaces / user, sandbox_id=user, memory="512M", pids=64)

    return SessionManager(sandbox_factory=sandbox_for, default_idle_timeout=600)


class Server:
    """Answers `POST /run/USER` with the output of the program in the body."""

    def __init__(self, sessions: SessionManager) -> None:
        self._sessions = sessions

    async def serve(self, port: int) -> asyncio.Server:
        """Starts to listen."""
        self._sessions.start_cleanup_loop(interval=60)
        return await asyncio.start_server(self._answer, "127.0.0.1", port)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status, answer = await self._run(reader)
        except (ValueError, asyncio.IncompleteReadError):
            status, answer = "400 Bad Request", {"error": "not a valid request"}
        body = json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async def _run(self, reader: asyncio.StreamReader) -> tuple[str, dict[str, object]]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        user = USER.match(head)
        length = re.search(r"(?im)^content-length: *(\d+)\r$", head)
        if user is None or length is None:
            return "404 Not Found", {"error": "POST a program to /run/USER"}
        if int(length[1]) > MOST_BYTES:
            return "413 Content Too Large", {"error": "the program is too long"}
        program = await reader.readexactly(int(length[1]))
        sandbox = await self._sessions.get_or_create(user[1])
        # Both wait for the sandbox without blocking other requests.
        await asyncio.to_thread(sandbox.write, "main.py", program)
        ran = await sandbox.async_execute("python3 main.py", timeout=30)
        return "200 OK", {"output": ran.output, "exit_code": ran.exit_code}


async def main(arguments: list[str]) -> None:
    """Serves until it is interrupted."""
    kind = "docker" if "--docker" in arguments else "linux"
    port = next((int(word) for word in arguments if word.isdigit()), 8000)
    with tempfile.TemporaryDirectory(prefix="workden-example-") as directory:
        sessions = manager(Path(directory), kind)
        server = await Server(sessions).serve(port)
        print(f"listening on http://127.0.0.1:{port}")
        try:
            await server.serve_forever()
        finally:
            await sessions.shutdown()


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1:]))
    except KeyboardInterrupt:
        pass
