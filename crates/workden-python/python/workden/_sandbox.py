"""Common base of the sandboxes over a native workspace: id, lifecycle and time of last use."""

from __future__ import annotations

import json
import logging
import time
import uuid
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from workden import _messages
from workden._commands import NativeCommands
from workden._files import NativeFiles
from workden._native import Failure
from workden._refusals import OnDenied, raise_refusal

if TYPE_CHECKING:
    from workden._native import NativeWorkspace
    from workden.permissions import AskFallback

_log = logging.getLogger("workden")
Self = TypeVar("Self", bound="NativeSandbox")


class NativeSandbox(NativeFiles, NativeCommands):
    """A sandbox that starts on first use, and again when it is used after it was stopped."""

    def __init__(self, sandbox_id: str | None, idle_timeout: float) -> None:
        self._id = sandbox_id or str(uuid.uuid4())
        self._idle_timeout = idle_timeout
        self._last_activity = time.time()
        self._reset_background()
        with _messages.builtin_exceptions():
            self._current = self._create_native()

    _ask_fallback: AskFallback = "error"
    _on_denied: OnDenied = "answer"

    def _refused(self, failure: Failure) -> None:
        raise_refusal(failure, self._ask_fallback, self._on_denied)

    @abstractmethod
    def _create_native(self) -> NativeWorkspace:
        """Creates the native workspace without starting anything."""

    @property
    def _native(self) -> NativeWorkspace:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Every operation reads this property, so it records the time of last use.
        self._last_activity = time.time()
        return self._current

    @property
    def id(self) -> str:
        """The id of this sandbox."""
        return self._id

    @property
    def session_id(self) -> str:
        """The id of this sandbox, under the name that session managers use."""
        return self.id

    @property
    def idle_timeout(self) -> float:
        """Seconds without use after which a session manager ends the sandbox."""
        return self._idle_timeout

    # Lifecycle

    def start(self) -> None:
        """Starts the sandbox now instead of on first use, or starts it again after it has ended.

        Raises `RuntimeError` with the reason if it cannot start.
        """
        try:
            self._native.start()
        except Failure as failure:
            _raise_unless_gone(failure)
            self.stop()
            with _messages.builtin_exceptions():
                self._native.start()

    async def async_start(self) -> None:
        """Async version of `start`."""
        try:
            await self._native.start_async()
        except Failure as failure:
            _raise_unless_gone(failure)
            await self.async_stop()
            with _messages.builtin_exceptions():
                await self._native.start_async()

    def is_alive(self) -> bool:
        """Whether the sandbox was started and is running. Does not start it."""
        return self._current.is_alive()

    async def async_is_alive(self) -> bool:
        """Async version of `is_alive`."""
        return await self._current.is_alive_async()

    def stop(self) -> None:
        """Ends the sandbox and all of its processes. The next use starts it again."""
        self._reset_background()
        try:
            self._current.end()
        except Failure as failure:
            _log_stop_failure(failure)

    async def async_stop(self) -> None:
        """Async version of `stop`."""
        self._reset_background()
        try:
            await self._current.end_async()
        except Failure as failure:
            _log_stop_failure(failure)

    # Status

    def isolation(self) -> dict[str, Any]:
        """Returns the isolation in effect: `level`, `walls`, `lacking`, and what enforces `limits`."""
        with _messages.builtin_exceptions():
            return json.loads(self._native.isolation())

    def usage(self) -> dict[str, Any]:
        """Returns the current usage in bytes, processes and seconds; `None` for values that are not measured."""
        with _messages.builtin_exceptions():
            told = json.loads(self._native.usage())
        for name in ("cpu", "age", "idle"):
            if told[name] is not None:
                told[name] = _seconds(told[name])
        return told

    def idle_for(self) -> float:
        """Returns the seconds since the last use by any client; zero while a command runs, also in the background."""
        told = self._last_activity
        try:
            used = json.loads(self._current.usage()) if self._current.is_alive() else None
        except Failure:
            used = None
        if used is None:
            return time.time() - told
        return 0.0 if used["jobs"] else min(time.time() - told, _seconds(used["idle"]))

    # Context managers

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
        raise _messages.as_exception(failure) from None


def _log_stop_failure(failure: Failure) -> None:
    # The caller has no further use for the sandbox. If it cannot be reached, its keeper ends it.
    _log.warning("cannot stop a sandbox; its keeper will end it: %s", failure)
