"""One environment, started once, whoever asks for it first, and however many."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pydantic_ai.workspaces import WorkspaceRef

from workden._native import Failure
from workden._workspace.failures import of_attach

if TYPE_CHECKING:
    from workden._native import Place
    from workden._workspace.grounds import Ground, Opened


class Environment:
    """The environment behind a workspace. It starts in a thread of its own, so that whoever waits for it may be
    cancelled, with a whole event loop, and what was made is still known by its ref."""

    def __init__(self, ground: Ground, ref: WorkspaceRef | None) -> None:
        if ref is not None and ref.provider != ground.provider:
            raise ValueError(f"`{ref.provider}` is not `{ground.provider}`: this ref is of another workspace")
        self._ground = ground
        self._lock = threading.Lock()
        self._opening: tuple[int, Future[Opened]] | None = None
        self.ref = ref

    async def place(self) -> Place:
        """Where to work, started or reached now if it was not before."""
        _, place = await self.opened()
        return place

    async def opened(self) -> Opened:
        """The same, with the backend that it is the place of."""
        return await _unharmed(self._begun())

    def _begun(self) -> Future[Opened]:
        with self._lock:
            if self._opening is not None:
                process, opening = self._opening
                # A forked child comes to the same environment by its ref. What failed is tried again.
                if process == os.getpid() and not (opening.done() and opening.exception()):
                    return opening
            opening = Future()
            self._opening = (os.getpid(), opening)
        threading.Thread(target=self._open, args=(opening,), name="workden-workspace", daemon=True).start()
        return opening

    def _open(self, opening: Future[Opened]) -> None:
        try:
            opening.set_result(self._make() if self.ref is None else self._find(self.ref))
        except BaseException as error:
            opening.set_exception(error)

    def _make(self) -> Opened:
        id = self._ground.new_id()
        made = _started(self._ground.make(id))
        self.ref = WorkspaceRef(provider=self._ground.provider, id=id)
        return made

    def _find(self, ref: WorkspaceRef) -> Opened:
        try:
            return _started(self._ground.find(ref.id))
        except Failure as failure:
            raise of_attach(failure) from failure


def _started(opened: Opened) -> Opened:
    _, place = opened
    if place.has_commands():
        place.start()
    return opened


async def _unharmed(opening: Future[Opened]) -> Opened:
    """What it comes to. Cancelling this cancels nobody but whoever waits."""
    if opening.done():
        return opening.result()
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()

    def wake(_: object) -> None:
        # The loop may have ended in the meantime, with all who waited.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: waiting.done() or waiting.set_result(None))

    opening.add_done_callback(wake)
    await waiting
    return opening.result()
