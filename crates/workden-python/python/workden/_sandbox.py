"""What all sandboxes over a native place have in common: a name, a life, and when they were last used."""

from __future__ import annotations

import json
import logging
import time
import uuid
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from workden import _said
from workden._commands import PlaceCommands
from workden._files import PlaceFiles
from workden._native import Failure

if TYPE_CHECKING:
    from workden._native import Place
    from workden.permissions import AskFallback

_log = logging.getLogger("workden")
Self = TypeVar("Self", bound="PlaceSandbox")


class PlaceSandbox(PlaceFiles, PlaceCommands):
    """A sandbox that starts when it is first needed, and once more when it is needed after it was stopped."""

    def __init__(self, sandbox_id: str | None, idle_timeout: float) -> None:
        self._id = sandbox_id or str(uuid.uuid4())
        self._idle_timeout = idle_timeout
        self._last_activity = time.time()
        self._commands_begin()
        with _said.plainly():
            self._current = self._made()

    _ask_fallback: AskFallback = "error"

    def _refused(self, failure: Failure) -> None:
        name, parts = _said.refusal(failure)
        if name == "unapproved" and self._ask_fallback == "error":
            from workden.permissions import PermissionAskError

            raise PermissionAskError(parts["operation"], parts["target"], "Approval required but no callback") from None

    @abstractmethod
    def _made(self) -> Place:
        """The place, of which nothing runs yet."""

    @property
    def _place(self) -> Place:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Whoever does something here comes by: this is how it is known when it was last used.
        self._last_activity = time.time()
        return self._current

    @property
    def id(self) -> str:
        """What this sandbox is called."""
        return self._id

    @property
    def session_id(self) -> str:
        """The same, for whoever keeps sessions."""
        return self._id

    @property
    def idle_timeout(self) -> float:
        """Seconds after which a session manager ends it, if nobody uses it."""
        return self._idle_timeout

    # Its life

    def start(self) -> None:
        """Starts it now, before anybody needs it; or once more, if it has ended.

        Raises `RuntimeError` with what stands in the way.
        """
        try:
            self._place.start()
        except Failure as failure:
            _raise_unless_gone(failure)
            self.stop()
            with _said.plainly():
                self._place.start()

    async def async_start(self) -> None:
        """The same, awaited."""
        try:
            await self._place.start_async()
        except Failure as failure:
            _raise_unless_gone(failure)
            await self.async_stop()
            with _said.plainly():
                await self._place.start_async()

    def is_alive(self) -> bool:
        """Whether it has been started, and runs. Nothing is started by asking."""
        return self._current.is_alive()

    async def async_is_alive(self) -> bool:
        """The same, awaited."""
        return await self._current.is_alive_async()

    def stop(self) -> None:
        """Ends it, with all that runs in it. The next call starts it anew."""
        self._commands_begin()
        try:
            self._current.end()
        except Failure as failure:
            _tell(failure)

    async def async_stop(self) -> None:
        """The same, awaited."""
        self._commands_begin()
        try:
            await self._current.end_async()
        except Failure as failure:
            _tell(failure)

    # What it is like

    def isolation(self) -> dict[str, Any]:
        """What really separates commands from the machine: `level`, `walls`, `lacking`, and who holds `limits`."""
        with _said.plainly():
            return json.loads(self._place.isolation())

    def usage(self) -> dict[str, Any]:
        """What it uses at the moment: bytes, processes and seconds; `None` for what nobody counts."""
        with _said.plainly():
            told = json.loads(self._place.usage())
        for name in ("cpu", "age", "idle"):
            if told[name] is not None:
                told[name] = _seconds(told[name])
        return told

    def idle_for(self) -> float:
        """Seconds that nobody has used it, by whatever way; none while a command runs or is in the background."""
        told = self._last_activity
        try:
            used = json.loads(self._current.usage()) if self._current.is_alive() else None
        except Failure:
            used = None
        if used is None:
            return time.time() - told
        return 0.0 if used["jobs"] else min(time.time() - told, _seconds(used["idle"]))

    # `with`, and `async with`

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.async_stop()


def _seconds(duration: dict[str, int]) -> float:
    return duration["secs"] + duration["nanos"] / 1e9


def _raise_unless_gone(failure: Failure) -> None:
    if failure.kind != "gone":
        raise _said.as_exception(failure) from None


def _tell(failure: Failure) -> None:
    # Whoever stops a sandbox is done with it. What cannot be reached ends by itself: its keeper sees to that.
    _log.warning("a sandbox could not be stopped, and ends by itself: %s", failure)
