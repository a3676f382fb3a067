"""Asking somebody: from the question of the native half to the callbacks that people write."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workden.permissions import AskCallback


CALLING: ContextVar[Callable[[str], Awaitable[Any]] | None] = ContextVar("workden_calling", default=None)
"""Who is asked about the call of a tool that is under way, in place of the callbacks of backends: also of those that
are inside of another."""


def asker(callback: AskCallback | None) -> Callable[[str], Any]:
    """What the native half calls, for a callback `(operation, target, reason) -> bool`, sync or async."""

    async def asks(question: str) -> Any:
        calling = CALLING.get()
        if calling is not None:
            return await calling(question)
        if callback is None:
            return None
        return await called(callback, asked(json.loads(question)))

    return asks


async def called(callback: Callable[..., Any], question: tuple[Any, str, str]) -> bool:
    """What a callback says. It may wait for somebody: that is not done in the loop."""
    import inspect

    from workden._await import in_thread

    answer = await in_thread(callback, *question)
    return yes_or_no(await answer if inspect.isawaitable(answer) else answer)


def yes_or_no(answer: object) -> bool:
    """An answer that is one. A text that says no, or a decision that says so inside, is no `True`."""
    if answer is not None and not isinstance(answer, int):
        raise TypeError(f"whoever is asked answers True or False, and not {type(answer).__name__}")
    return bool(answer)


def asked(request: dict[str, Any]) -> tuple[Any, str, str]:
    """The operation, what it is about, and why somebody is asked."""
    refusal: dict[str, dict[str, str]] = request.get("refusal") or {}
    for parts in refusal.values():
        return parts["operation"], parts["target"], parts["description"] or request["why"]
    target = request["command"]["script"] if request.get("command") else ", ".join(p["typed"] for p in request["paths"])
    return request["call"], target, request["why"]
