"""`ApprovalMemory`: remembered approvals."""

from __future__ import annotations

import json
from typing import Any

from workden.approval.types import ApprovalDecision

__all__ = ["ApprovalMemory"]


class ApprovalMemory:
    """Decisions for a session, by tool and arguments."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[str, str], ApprovalDecision] = {}

    def lookup(self, tool_name: str, args: dict[str, Any]) -> ApprovalDecision | None:
        """Returns the remembered decision about a call."""
        return self._decisions.get(_key(tool_name, args))

    def store(self, tool_name: str, args: dict[str, Any], decision: ApprovalDecision) -> None:
        """Remembers a decision if its `remember` is `session`."""
        if decision.remember == "session":
            self._decisions[_key(tool_name, args)] = decision

    def clear(self) -> None:
        """Forgets everything."""
        self._decisions.clear()

    def list_approvals(self) -> list[tuple[str, dict[str, Any], ApprovalDecision]]:
        """Lists the remembered decisions with their tools and arguments."""
        return [(name, json.loads(args), decision) for (name, args), decision in self._decisions.items()]

    def __len__(self) -> int:
        return len(self._decisions)

    def __bool__(self) -> bool:
        # An empty memory is true: `memory or ApprovalMemory()` must not replace it.
        return True


def _key(tool_name: str, args: dict[str, Any]) -> tuple[str, str]:
    from pydantic_core import to_jsonable_python

    # Validated arguments may be models, dates and the like.
    return tool_name, json.dumps(to_jsonable_python(args, fallback=repr), sort_keys=True)
