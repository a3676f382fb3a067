"""Passes approval questions of the native module to the caller of the current tool.

A sandbox has three native workspaces: one without approvals, one in which everything requires approval, and one that
follows its configuration. A call that requires approval runs in the second. It asks after all other checks have passed,
and then applies exactly the approved change, or nothing. A call without approval runs in the third, because its path
may by then lead to files that require approval.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

Decides = Callable[..., Awaitable["tuple[bool, str | None]"]]
"""Receives a preview of the change, if any, and its target; returns the answer, and an optional reason."""

DECIDES: ContextVar[Decides] = ContextVar("workden_filesystem_decides")
"""Answers the questions of the current task."""


async def ask(question: str) -> tuple[bool, str | None]:
    """Answers a question of the native module."""
    request: dict[str, Any] = json.loads(question)
    about = {"found": request.get("targets", []), "leads_to": [path["real"] for path in request["paths"]]}
    return await DECIDES.get()(request.get("preview"), about)
