"""Approval before a tool runs, for any Pydantic AI toolset.

The names are those of pydantic-ai-blocking-approval: change the import, and keep the program. A denial is an answer to
the model and does not end the run.

```python
from workden.approval import ApprovalController, ApprovalRequest

controller = ApprovalController(mode="strict")
request = ApprovalRequest(tool_name="write_file", tool_args={}, description="Write 5 chars to output/a.md")
assert not controller.request_approval_sync(request).approved
```
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workden.approval.controller import ApprovalController
    from workden.approval.memory import ApprovalMemory
    from workden.approval.toolset import ApprovalToolset
    from workden.approval.types import (
        ApprovalCallback,
        ApprovalDecision,
        ApprovalRequest,
        ApprovalResult,
        SupportsApprovalDescription,
        SupportsNeedsApproval,
    )

__all__ = [
    "ApprovalCallback",
    "ApprovalController",
    "ApprovalDecision",
    "ApprovalMemory",
    "ApprovalRequest",
    "ApprovalResult",
    "ApprovalToolset",
    "SupportsApprovalDescription",
    "SupportsNeedsApproval",
]

_MODULE_OF = {"ApprovalController": "controller", "ApprovalMemory": "memory", "ApprovalToolset": "toolset"}


def __getattr__(name: str) -> object:
    # Pydantic and Pydantic AI are slow to import, so they are loaded on first use.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULE_OF.get(name, 'types')}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
