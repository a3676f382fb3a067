"""`SessionManager`: a sandbox for each session, made once, used again, and ended when nobody uses it.

Sandboxes are whatever a factory makes: ours, or objects of somebody else with `start`, `stop` and `is_alive`,
plain or async. Invariants: for one id one thing happens at a time; what has begun is seen through, also when
whoever asked for it stops waiting; and no code of a sandbox that may block runs on the event loop.
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
"""Makes the sandbox of a session, whose id it is given; plain or async."""

_log = logging.getLogger("workden")


_Judges = Callable[[str], Awaitable[bool]]


async def _always(_: str) -> bool:
    return True


class SessionManager:
    """Sandboxes by the id of their session.

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
        """Where sandboxes come from.

        - `sandbox_factory`: makes one; without it each is a `DockerSandbox`.
        - `default_runtime`: what those have installed, unless `get_or_create` is told otherwise.
        - `default_idle_timeout`: seconds without use after which a sandbox that has no `idle_timeout` is ended.
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
        """The sandboxes by their ids: a copy."""
        return dict(self._sessions)

    @property
    def session_count(self) -> int:
        """How many there are."""
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
        """The sandbox of a session, which is started if there is none that lives.

        An id begins with a letter or digit, and has at most 64 letters, digits, `.`, `_` and `-`; another is a
        `ValueError`. `runtime` is for a session that is made now, and only if there is no factory.
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
        """Ends the sandbox of a session. Whether there was one. One that is being started is ended then.

        If it cannot be stopped and lives on, that is raised, and the session stays.
        """
        return await self._calls.see_through(self._release(session_id, _always))

    async def cleanup_idle(self, max_idle: float | None = None) -> int:
        """Ends the sandboxes that nobody has used for longer than `max_idle` seconds. How many that were.

        If nothing is said each has the time that its `idle_timeout` says, or the usual one. One that has a method
        `idle_for` is asked for how long; ours have, and are in use as long as a command runs. What goes wrong with
        one of them is logged, and keeps no other from ending.
        """

        async def is_idle(session_id: str) -> bool:
            sandbox = self._sessions[session_id]
            own = getattr(sandbox, "idle_timeout", None)
            usual = own if isinstance(own, (int, float)) else self._default_idle_timeout
            most = usual if max_idle is None else max_idle
            # Who may know better is asked only when it would end.
            return self._unused(session_id, sandbox) > most and await self._idle_for(session_id, sandbox) > most

        return await self._release_all(list(self._sessions), is_idle)

    async def shutdown(self) -> int:
        """Ends all of them, and the cleanup loop. How many were ended."""
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
                _log.warning("the session %s could not be ended: %s", session_id, answer)
        return sum(answer is True for answer in answers)

    async def _release(self, session_id: str, if_still: _Judges) -> bool:
        if session_id not in self._sessions and not self._calls.is_anybodys_turn(session_id):
            return False
        async with self._calls.turn(session_id):
            # Somebody may have used it meanwhile, or ended it.
            if session_id not in self._sessions or not await if_still(session_id):
                return False
            sandbox = self._sessions[session_id]
            try:
                await self._calls.answer(sandbox.stop)
            except Exception:
                if await self._is_alive(sandbox):
                    raise
                _log.warning("a sandbox of the session %s failed to stop, but has ended", session_id, exc_info=True)
            del self._sessions[session_id]
            self._used.pop(session_id, None)
            return True

    # The cleanup loop

    def start_cleanup_loop(self, interval: float = 300) -> None:
        """Calls `cleanup_idle` every `interval` seconds in the running event loop. Once is enough."""
        if self._cleanup_task is None or self._cleanup_task.done():
            self._cleanup_task = asyncio.get_running_loop().create_task(self._clean_up(interval))

    def stop_cleanup_loop(self) -> None:
        """Ends that."""
        if self._cleanup_task is not None:
            self._cleanup_task.cancel()
            self._cleanup_task = None

    async def _clean_up(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            try:
                await self.cleanup_idle()
            except Exception:
                _log.exception("sessions could not be looked after; the next time is in %s s", interval)

    # When each was used

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

    # Calling what somebody else wrote

    async def _is_alive(self, sandbox: Any) -> bool:
        try:
            return bool(await self._calls.answer(sandbox.is_alive))
        except Exception:
            _log.warning("a sandbox cannot say whether it is alive", exc_info=True)
            return False

    async def _stop_quietly(self, session_id: str, sandbox: Any) -> None:
        try:
            await self._calls.answer(sandbox.stop)
        except Exception:
            _log.warning("a sandbox of the session %s could not be stopped", session_id, exc_info=True)
