"""`SessionManager`: one sandbox per session, created once, reused, and ended after a time without use.

A factory creates the sandboxes: those of this package, or any object with `start`, `stop` and `is_alive`, sync or
async. The native session manager decides when to call it: once per id however many callers ask, to the end even if a
caller is cancelled, and never on the event loop for blocking code.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import weakref
from collections.abc import Callable
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
        self._runtimes: dict[str, RuntimeConfig | str] = {}
        self._used: dict[str, float] = {}
        self._cleanup_task: asyncio.Task[None] | None = None
        self._calls = Calls()
        self._native = _native.Sessions(_Driver(self))

    @property
    def sessions(self) -> dict[str, Any]:
        """A copy of the sandboxes by id."""
        return self._native.sandboxes()

    @property
    def session_count(self) -> int:
        """The number of sessions."""
        return len(self.sessions)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self.sessions

    def __len__(self) -> int:
        return self.session_count

    async def __aenter__(self) -> SessionManager:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    # Opening

    async def get_or_create(self, session_id: str, runtime: RuntimeConfig | str | None = None) -> Any:
        """Returns the sandbox of a session, started if it is not running.

        An id starts with a letter or digit, and has at most 64 letters, digits, `.`, `_` and `-`; others raise
        `ValueError`. `runtime` applies to a new session without a factory. A session that is released while it starts
        raises `RuntimeError`.
        """
        try:
            _native.check_session_id(session_id)
        except _native.Failure as failure:
            raise ValueError(str(failure)) from None
        there = self.sessions.get(session_id)
        if there is not None:
            # Before the answer, or a cleanup in between would end it.
            self._use(session_id, there)
        elif runtime is not None:
            self._runtimes.setdefault(session_id, runtime)
        try:
            sandbox = await self._native.get_or_create(session_id)
        except _native.Failure as failure:
            raise RuntimeError(str(failure)) from None
        self._use(session_id, sandbox)
        return sandbox

    def _docker_sandbox(self, session_id: str) -> Any:
        from workden.backends.docker.runtimes import get_runtime
        from workden.backends.docker.sandbox import DockerSandbox

        runtime = self._runtimes.pop(session_id, None) or self._default_runtime
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
        released = await self._native.release(session_id)
        self._used.pop(session_id, None)
        return released

    async def cleanup_idle(self, max_idle: float | None = None) -> int:
        """Ends the sandboxes that were unused for more than `max_idle` seconds. Returns their number.

        By default the limit is the `idle_timeout` of each sandbox, or else the default. A method `idle_for` of a
        sandbox reports the seconds without use; in the sandboxes of this package it is zero while a command runs.
        Failures are logged, and do not affect other sessions.
        """
        limits = {id: self._idle_limit(sandbox, max_idle) for id, sandbox in self.sessions.items()}
        ended = await self._native.cleanup_idle(limits)
        self._used = {id: used for id, used in self._used.items() if id in self._native.ids()}
        return ended

    def _idle_limit(self, sandbox: Any, max_idle: float | None) -> float:
        own = getattr(sandbox, "idle_timeout", None)
        usual = own if isinstance(own, (int, float)) else self._default_idle_timeout
        return usual if max_idle is None else max_idle

    async def shutdown(self) -> int:
        """Ends all sessions and the cleanup loop. Returns the number of ended sessions."""
        self.stop_cleanup_loop()
        ids = self._native.ids()
        answers = await asyncio.gather(*(self.release(each) for each in ids), return_exceptions=True)
        for session_id, answer in zip(ids, answers):
            if isinstance(answer, Exception):
                _log.warning("cannot end session %s: %s", session_id, answer)
        if not self._native.ids():
            self._calls.close()
        return sum(answer is True for answer in answers)

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
        if not isinstance(told, (int, float)):
            told = self._used.get(session_id, time.time())
        return time.time() - told


class _Driver:
    """What the native manager calls to open, check and stop sandboxes."""

    def __init__(self, manager: SessionManager) -> None:
        # The manager owns the native one, which owns this.
        self._manager = weakref.ref(manager)
        self._calls = manager._calls

    def _of(self) -> SessionManager:
        manager = self._manager()
        assert manager is not None, "the session manager is gone"
        return manager

    async def open(self, session_id: str) -> Any:
        """Creates and starts a sandbox."""
        manager = self._of()
        sandbox = await self._calls.answer(manager._sandbox_factory or manager._docker_sandbox, session_id)
        try:
            await self._calls.answer(sandbox.start)
        except Exception:
            with contextlib.suppress(Exception):
                await self.stop(session_id, sandbox)
            raise
        return sandbox

    async def idle_for(self, session_id: str, sandbox: Any) -> float | None:
        """Returns the seconds without use; `None` when the sandbox is not alive."""
        if not await self._is_alive(sandbox):
            return None
        unused = self._of()._unused(session_id, sandbox)
        ask = getattr(sandbox, "idle_for", None)
        return min(unused, await self._calls.answer(ask)) if callable(ask) else unused

    async def stop(self, session_id: str, sandbox: Any) -> None:
        """Stops a sandbox. Raises if it is still alive then."""
        try:
            await self._calls.answer(sandbox.stop)
        except Exception:
            _log.warning("cannot stop a sandbox of session %s", session_id, exc_info=True)
            if await self._is_alive(sandbox):
                raise

    async def _is_alive(self, sandbox: Any) -> bool:
        try:
            return bool(await self._calls.answer(sandbox.is_alive))
        except Exception:
            _log.warning("cannot check whether a sandbox is alive", exc_info=True)
            return False
