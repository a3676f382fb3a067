"""Approval requests, decisions, and the check whether approval is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union, runtime_checkable

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from pydantic_ai.tools import RunContext

__all__ = [
    "ApprovalCallback",
    "ApprovalDecision",
    "ApprovalRequest",
    "ApprovalResult",
    "SupportsApprovalDescription",
    "SupportsNeedsApproval",
]


@dataclass(frozen=True)
class ApprovalResult:
    """Whether a call is blocked, pre-approved, or needs approval. Create it with one of the three class methods."""

    status: Literal["blocked", "pre_approved", "needs_approval"]
    block_reason: str | None = None

    @classmethod
    def blocked(cls, reason: str) -> ApprovalResult:
        """Blocks the call regardless of approvals; the model reads the reason."""
        return cls("blocked", reason)

    @classmethod
    def pre_approved(cls) -> ApprovalResult:
        """Lets the call proceed without approval."""
        return cls("pre_approved")

    @classmethod
    def needs_approval(cls) -> ApprovalResult:
        """Requires approval."""
        return cls("needs_approval")

    @property
    def is_blocked(self) -> bool:
        """Whether the call is blocked."""
        return self.status == "blocked"

    @property
    def is_pre_approved(self) -> bool:
        """Whether the call proceeds without approval."""
        return self.status == "pre_approved"

    @property
    def is_needs_approval(self) -> bool:
        """Whether the call requires approval."""
        return self.status == "needs_approval"


class ApprovalRequest(BaseModel):
    """A request for approval of a tool call."""

    tool_name: str = Field(description="Name of the tool")
    tool_args: dict[str, Any] = Field(description="Arguments of the tool")
    description: str = Field(description="Description of the call")
    preview: str | None = Field(default=None, description="Preview of the change as a diff, if available")


class ApprovalDecision(BaseModel):
    """The answer to an approval request."""

    approved: bool = Field(description="Whether the call is approved")
    note: str | None = Field(default=None, description="Reason for a denial, for the model")
    remember: Literal["none", "session"] = Field(
        default="none", description="`session` approves the same call for the rest of the session"
    )


ApprovalCallback = Callable[[ApprovalRequest], Union[ApprovalDecision, Awaitable[ApprovalDecision]]]
"""Answers a request, sync or async."""


@runtime_checkable
class SupportsNeedsApproval(Protocol):
    """A toolset that decides which calls require approval."""

    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> ApprovalResult:
        """Returns whether a call is blocked, pre-approved, or needs approval."""
        ...


@runtime_checkable
class SupportsApprovalDescription(Protocol):
    """A toolset that describes its calls."""

    def get_approval_description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        """Describes a call in one sentence for a person."""
        ...
