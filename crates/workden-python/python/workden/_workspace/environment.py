"""One environment, started once for any number of concurrent first calls."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pydantic_ai.workspaces import WorkspaceRef

from workden._native import Failure
from workden._workspace.exceptions import attach_exception

if TYPE_CHECKING:
    from workden._native import NativeWorkspace
    from workden._workspace.providers import Opened, Provider


class Environment:
    """The environment behind a workspace. It starts in its own thread, so that waiting callers can be cancelled, even
    with their event loop, and a created environment still gets its ref."""

    def __init__(self, provider: Provider, ref: WorkspaceRef | None) -> None:
        if ref is not None and ref.provider != provider.provider:
            raise ValueError(f"this ref belongs to provider `{ref.provider}`, not `{provider.provider}`")
        self._provider = provider
        self._lock = threading.Lock()
        self._opening: tuple[int, Future[Opened]] | None = None
        self.ref = ref

    async def native(self) -> NativeWorkspace:
        """Returns the native workspace, started or attached to on the first call."""
        _, native = await self.opened()
        return native

    async def opened(self) -> Opened:
        """Like `native`, together with the backend that owns the native workspace."""
        return await _shielded(self._start_opening())

    def _start_opening(self) -> Future[Opened]:
        with self._lock:
            if self._opening is not None:
                process, opening = self._opening
                # A forked child attaches by ref. A failed attempt is repeated.
                if process == os.getpid() and not (opening.done() and opening.exception()):
                    return opening
            begun: Future[Opened] = Future()
            self._opening = (os.getpid(), begun)
        threading.Thread(target=self._open, args=(begun,), name="workden-workspace", daemon=True).start()
        return begun

    def _open(self, opening: Future[Opened]) -> None:
        try:
            opening.set_result(self._make() if self.ref is None else self._find(self.ref))
        except BaseException as error:
            opening.set_exception(error)

    def _make(self) -> Opened:
        id = self._provider.new_id()
        made = _start(self._provider.make(id))
        self.ref = WorkspaceRef(provider=self._provider.provider, id=id)
        return made

    def _find(self, ref: WorkspaceRef) -> Opened:
        try:
            return _start(self._provider.find(ref.id))
        except Failure as failure:
            raise attach_exception(failure) from failure


def _start(opened: Opened) -> Opened:
    _, native = opened
    if native.has_commands():
        native.start()
    return opened


async def _shielded(opening: Future[Opened]) -> Opened:
    """Returns the result of a future. Cancelling this call does not cancel the future."""
    if opening.done():
        return opening.result()
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()

    def wake(_: object) -> None:
        # The event loop may be closed by now, together with its tasks.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: waiting.done() or waiting.set_result(None))

    opening.add_done_callback(wake)
    await waiting
    return opening.result()
