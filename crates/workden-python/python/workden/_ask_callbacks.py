"""Connects approval questions of the native module to the callbacks that users write."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workden.permissions.types import AskCallback


TOOL_CALL_CALLBACK: ContextVar[Callable[[str], Awaitable[Any]] | None] = ContextVar("workden_calling", default=None)
"""Answers questions about the tool call in progress, instead of the callbacks of the backends, nested ones included."""


def native_callback(callback: AskCallback | None) -> Callable[[str], Any]:
    """Returns the function that the native module calls, for a callback `(operation, target, reason) -> bool`, sync or
    async."""

    async def asks(question: str) -> Any:
        calling = TOOL_CALL_CALLBACK.get()
        if calling is not None:
            return await calling(question)
        if callback is None:
            return None
        return await call(callback, callback_arguments(json.loads(question)))

    return asks


async def call(callback: Callable[..., Any], question: tuple[Any, str, str]) -> bool:
    """Returns the answer of a callback. It runs in a thread, since it may block."""
    import inspect

    from workden._event_loop import in_thread

    answer = await in_thread(callback, *question)
    return yes_or_no(await answer if inspect.isawaitable(answer) else answer)


def yes_or_no(answer: object) -> bool:
    """Converts an answer to a bool, and rejects other types: `"no"` and a decision object would count as true."""
    if answer is not None and not isinstance(answer, int):
        raise TypeError(f"an approval callback must return True or False, not {type(answer).__name__}")
    return bool(answer)


def callback_arguments(request: dict[str, Any]) -> tuple[Any, str, str]:
    """Returns the operation, its target and the reason for the question."""
    refusal: dict[str, dict[str, str]] = request.get("refusal") or {}
    for parts in refusal.values():
        return parts["operation"], parts["target"], parts["description"] or request["why"]
    target = request["command"]["script"] if request.get("command") else ", ".join(p["typed"] for p in request["paths"])
    return request["call"], target, request["why"]
