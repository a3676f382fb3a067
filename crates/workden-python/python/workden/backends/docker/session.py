"""`SessionManager`: one sandbox per session, created once, reused, and ended after a time without use.

A factory creates the sandboxes: those of this package, or any object with `start`, `stop` and `is_alive`, sync or
async. Invariants: operations on one id run one at a time; a started operation completes, even if its caller is
cancelled; blocking code of a sandbox never runs on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workden import _native
from workden.backends.docker._calls import Calls

if TYPE_CHECKING:
    import os

    from workden._runtime_config import RuntimeConfig

__all__ = ["SandboxFactory", "SessionManager"]

SandboxFactory = Callable[[str], Any]
"""Creates the sandbox of a session from its id; sync or async."""

_log = logging.getLogger("workden")


_Judges = Callable[[str], Awaitable[bool]]


async def _always(_: str) -> bool:
    return True


class SessionManager:
    """Sandboxes by session id.

    ```python
    import asyncio
    from workden import LinuxSandbox, SessionManager

    async def main():
        async with SessionManager(lambda id: LinuxSandbox(session_id=id)) as sessions:
            sandbox = await sessions.get_or_create("user-1")
            await sandbox.async_execute("echo hello > greeting")
            assert await sessions.get_or_create("user-1") is sandbox

    asyncio.run(main())
    ```
    """

    def __init__(
        self,
        sandbox_factory: SandboxFactory | None = None,
        default_runtime: RuntimeConfig | str | None = None,
        default_idle_timeout: float = 3600,
        workspace_root: str | os.PathLike[str] | None = None,
    ) -> None:
        """Configures how sandboxes are created.

        - `sandbox_factory`: creates a sandbox. By default: a `DockerSandbox`.
        - `default_runtime`: the runtime of a `DockerSandbox`, unless `get_or_create` gets another.
        - `default_idle_timeout`: seconds without use after which a sandbox without `idle_timeout` is ended.
        - `workspace_root`: a `DockerSandbox` works in `{workspace_root}/{id}/workspace`, which outlives it.
        """
        self._sandbox_factory = sandbox_factory
        self._default_runtime = default_runtime
        self._default_idle_timeout = default_idle_timeout
        self._workspace_root = None if workspace_root is None else Path(workspace_root)
        self._sessions: dict[str, Any] = {}
        self._used: dict[str, float] = {}
        self._cleanup_task: asyncio.Task[None] | None = None
        self._calls = Calls()

    @property
    def sessions(self) -> dict[str, Any]:
        """A copy of the sandboxes by id."""
        return dict(self._sessions)

    @property
    def session_count(self) -> int:
        """The number of sessions."""
        return len(self._sessions)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)

    async def __aenter__(self) -> SessionManager:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    # Opening

    async def get_or_create(self, session_id: str, runtime: RuntimeConfig | str | None = None) -> Any:
        """Returns the sandbox of a session, started if it is not running.

        An id starts with a letter or digit, and has at most 64 letters, digits, `.`, `_` and `-`; others raise
        `ValueError`. `runtime` applies to a new session without a factory.
        """
        try:
            _native.check_session_id(session_id)
        except _native.Failure as failure:
            raise ValueError(str(failure)) from None
        return await self._calls.see_through(self._get_or_create(session_id, runtime))

    async def _get_or_create(self, session_id: str, runtime: RuntimeConfig | str | None) -> Any:
        async with self._calls.turn(session_id):
            sandbox = self._sessions.get(session_id)
            if sandbox is not None:
                if await self._is_alive(sandbox):
                    self._use(session_id, sandbox)
                    return sandbox
                del self._sessions[session_id]
                await self._stop_quietly(session_id, sandbox)
            make = self._sandbox_factory or functools.partial(self._docker_sandbox, runtime=runtime)
            sandbox = await self._calls.answer(make, session_id)
            try:
                await self._calls.answer(sandbox.start)
            except Exception:
                await self._stop_quietly(session_id, sandbox)
                raise
            self._sessions[session_id] = sandbox
            self._use(session_id, sandbox)
            return sandbox

    def _docker_sandbox(self, session_id: str, runtime: RuntimeConfig | str | None) -> Any:
        from workden.backends.docker.runtimes import get_runtime
        from workden.backends.docker.sandbox import DockerSandbox

        runtime = runtime or self._default_runtime
        if isinstance(runtime, str):
            runtime = get_runtime(runtime)
        volumes: dict[str | os.PathLike[str], str] | None = None
        if self._workspace_root is not None:
            workspace = _native.session_workspace(self._workspace_root, session_id)
            volumes = {workspace: runtime.work_dir if runtime else "/workspace"}
        return DockerSandbox(
            runtime=runtime, session_id=session_id, idle_timeout=self._default_idle_timeout, volumes=volumes
        )

    # Ending

    async def release(self, session_id: str) -> bool:
        """Ends the sandbox of a session. Returns whether it existed. A starting sandbox is ended after its start.

        If it cannot be stopped and is still alive, the exception is raised, and the session stays.
        """
        return await self._calls.see_through(self._release(session_id, _always))

    async def cleanup_idle(self, max_idle: float | None = None) -> int:
        """Ends the sandboxes that were unused for more than `max_idle` seconds. Returns their number.

        By default the limit is the `idle_timeout` of each sandbox, or else the default. A method `idle_for` of a
        sandbox reports the seconds without use; in the sandboxes of this package it is zero while a command runs.
        Failures are logged, and do not affect other sessions.
        """

        async def is_idle(session_id: str) -> bool:
            sandbox = self._sessions[session_id]
            own = getattr(sandbox, "idle_timeout", None)
            usual = own if isinstance(own, (int, float)) else self._default_idle_timeout
            most = usual if max_idle is None else max_idle
            # Ask the sandbox itself only before ending it.
            return self._unused(session_id, sandbox) > most and await self._idle_for(session_id, sandbox) > most

        return await self._release_all(list(self._sessions), is_idle)

    async def shutdown(self) -> int:
        """Ends all sessions and the cleanup loop. Returns the number of ended sessions."""
        self.stop_cleanup_loop()
        await self._calls.settled()
        ended = await self._release_all(list(self._sessions), _always)
        if not self._sessions:
            self._calls.close()
        return ended

    async def _release_all(self, ids: list[str], if_still: _Judges) -> int:
        releases = [self._calls.see_through(self._release(each, if_still)) for each in ids]
        answers = await asyncio.gather(*releases, return_exceptions=True)
        for session_id, answer in zip(ids, answers):
            if isinstance(answer, Exception):
                _log.warning("cannot end session %s: %s", session_id, answer)
        return sum(answer is True for answer in answers)

    async def _release(self, session_id: str, if_still: _Judges) -> bool:
        if session_id not in self._sessions and not self._calls.is_anybodys_turn(session_id):
            return False
        async with self._calls.turn(session_id):
            # The session may have been used or ended while waiting for the lock.
            if session_id not in self._sessions or not await if_still(session_id):
                return False
            sandbox = self._sessions[session_id]
            try:
                await self._calls.answer(sandbox.stop)
            except Exception:
                if await self._is_alive(sandbox):
                    raise
                _log.warning("a sandbox of session %s failed to stop, but has ended", session_id, exc_info=True)
            del self._sessions[session_id]
            self._used.pop(session_id, None)
            return True

    # The cleanup loop

    def start_cleanup_loop(self, interval: float = 300) -> None:
        """Calls `cleanup_idle` every `interval` seconds in the running event loop. Repeated calls have no effect."""
        if self._cleanup_task is None or self._cleanup_task.done():
            self._cleanup_task = asyncio.get_running_loop().create_task(self._clean_up(interval))

    def stop_cleanup_loop(self) -> None:
        """Stops the cleanup loop."""
        if self._cleanup_task is not None:
            self._cleanup_task.cancel()
            self._cleanup_task = None

    async def _clean_up(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            try:
                await self.cleanup_idle()
            except Exception:
                _log.exception("the cleanup of idle sessions failed; retrying in %s s", interval)

    # Time of last use

    def _use(self, session_id: str, sandbox: Any) -> None:
        self._used[session_id] = time.time()
        with contextlib.suppress(AttributeError):
            sandbox._last_activity = time.time()

    def _unused(self, session_id: str, sandbox: Any) -> float:
        told = getattr(sandbox, "_last_activity", None)
        return time.time() - (told if isinstance(told, (int, float)) else self._used[session_id])

    async def _idle_for(self, session_id: str, sandbox: Any) -> float:
        ask = getattr(sandbox, "idle_for", None)
        return await self._calls.answer(ask) if callable(ask) else self._unused(session_id, sandbox)

    # Calls of sandbox methods

    async def _is_alive(self, sandbox: Any) -> bool:
        try:
            return bool(await self._calls.answer(sandbox.is_alive))
        except Exception:
            _log.warning("cannot check whether a sandbox is alive", exc_info=True)
            return False

    async def _stop_quietly(self, session_id: str, sandbox: Any) -> None:
        try:
            await self._calls.answer(sandbox.stop)
        except Exception:
            _log.warning("cannot stop a sandbox of session %s", session_id, exc_info=True)
