"""Who decides about the call at hand.

A sandbox has its native place three times: one in which nothing has to be approved, one in which everything has to be,
and one in which what its configuration says has to be. A call that somebody has to approve is made in the second. It
puts its question when all that can be refused has been refused, and does what was approved or nothing. One that nobody
has to approve is made in the third: it may be that it has to be after all.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

Decides = Callable[..., Awaitable["tuple[bool, str | None]"]]
"""Is shown what would change, if anything does, and what it is about, and says whether to go ahead, and perhaps why not."""

DECIDES: ContextVar[Decides] = ContextVar("workden_filesystem_decides")
"""Whom the calls of this task ask."""


async def ask(question: str) -> tuple[bool, str | None]:
    """Answers the native half."""
    request: dict[str, Any] = json.loads(question)
    about = {"found": request.get("found", []), "leads_to": [path["real"] for path in request["paths"]]}
    return await DECIDES.get()(request.get("preview"), about)
