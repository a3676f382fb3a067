"""Detects whether a run may end with deferred approval questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, get_args

from pydantic_ai.tools import DeferredToolRequests


def may_end_with_questions(ctx: Any) -> bool:
    """Whether the run of this context may end with questions."""
    agent = getattr(ctx, "agent", None)
    return agent is not None and takes_deferred(agent.output_type)


def takes_deferred(output_type: object) -> bool:
    """Whether runs with this output type may end with questions."""
    if output_type is DeferredToolRequests:
        return True
    if isinstance(output_type, Sequence) and not isinstance(output_type, str):
        return any(takes_deferred(one) for one in cast("Sequence[object]", output_type))
    return any(takes_deferred(one) for one in get_args(output_type))
