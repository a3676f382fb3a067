"""Asking somebody: from the question of the native half to the callbacks that people write."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workden.permissions import AskCallback


def asker(callback: AskCallback | None) -> Callable[[str], Any] | None:
    """What the native half calls, for a callback `(operation, target, reason) -> bool`, sync or async."""
    if callback is None:
        return None

    def asks(question: str) -> bool | Awaitable[bool]:
        operation, target, reason = asked(json.loads(question))
        return callback(operation, target, reason)

    return asks


def asked(request: dict[str, Any]) -> tuple[Any, str, str]:
    """The operation, what it is about, and why somebody is asked."""
    refusal: dict[str, Any] = request.get("refusal") or {}
    for parts in refusal.values():
        return parts["operation"], parts["target"], parts["description"] or request["why"]
    target = request["command"]["script"] if request.get("command") else ", ".join(p["typed"] for p in request["paths"])
    return request["call"], target, request["why"]
