"""`ApprovalMemory`: what need not be asked about again."""

from __future__ import annotations

import json
from typing import Any

from workden.approval.types import ApprovalDecision

__all__ = ["ApprovalMemory"]


class ApprovalMemory:
    """Decisions that are good for a session: for the same tool with the same arguments."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[str, str], ApprovalDecision] = {}

    def lookup(self, tool_name: str, args: dict[str, Any]) -> ApprovalDecision | None:
        """What was decided about this call, if it was to be remembered."""
        return self._decisions.get(_key(tool_name, args))

    def store(self, tool_name: str, args: dict[str, Any], decision: ApprovalDecision) -> None:
        """Remembers a decision, if that is what it says of itself."""
        if decision.remember == "session":
            self._decisions[_key(tool_name, args)] = decision

    def clear(self) -> None:
        """Forgets everything."""
        self._decisions.clear()

    def list_approvals(self) -> list[tuple[str, dict[str, Any], ApprovalDecision]]:
        """All that is remembered: tool, arguments and decision of each."""
        return [(name, json.loads(args), decision) for (name, args), decision in self._decisions.items()]

    def __len__(self) -> int:
        return len(self._decisions)

    def __bool__(self) -> bool:
        # One that is empty is a memory, too: `memory or ApprovalMemory()` must not lose it.
        return True


def _key(tool_name: str, args: dict[str, Any]) -> tuple[str, str]:
    from pydantic_core import to_jsonable_python

    # Arguments that were validated may be models, dates and the like.
    return tool_name, json.dumps(to_jsonable_python(args, fallback=repr), sort_keys=True)
