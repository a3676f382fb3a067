"""The question, the answer, and whether there is a question at all."""

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
    """Whether a call is refused, goes ahead, or has to be approved. Made by one of its three class methods."""

    status: Literal["blocked", "pre_approved", "needs_approval"]
    block_reason: str | None = None

    @classmethod
    def blocked(cls, reason: str) -> ApprovalResult:
        """It is refused, whatever anybody says; the model reads the reason."""
        return cls("blocked", reason)

    @classmethod
    def pre_approved(cls) -> ApprovalResult:
        """It goes ahead."""
        return cls("pre_approved")

    @classmethod
    def needs_approval(cls) -> ApprovalResult:
        """Somebody has to approve it."""
        return cls("needs_approval")

    @property
    def is_blocked(self) -> bool:
        """Whether it is refused."""
        return self.status == "blocked"

    @property
    def is_pre_approved(self) -> bool:
        """Whether it goes ahead."""
        return self.status == "pre_approved"

    @property
    def is_needs_approval(self) -> bool:
        """Whether somebody has to approve it."""
        return self.status == "needs_approval"


class ApprovalRequest(BaseModel):
    """What somebody is asked."""

    tool_name: str = Field(description="The tool that is called")
    tool_args: dict[str, Any] = Field(description="What it is called with")
    description: str = Field(description="What it would do")
    preview: str | None = Field(default=None, description="What would change, as a diff, where the toolset knows")


class ApprovalDecision(BaseModel):
    """What they say."""

    approved: bool = Field(description="Whether the tool is called")
    note: str | None = Field(default=None, description="Why not, for the model")
    remember: Literal["none", "session"] = Field(
        default="none", description="`session` if the same call need not be asked about again"
    )


ApprovalCallback = Callable[[ApprovalRequest], Union[ApprovalDecision, Awaitable[ApprovalDecision]]]
"""Asks somebody; at once, or as something to await."""


@runtime_checkable
class SupportsNeedsApproval(Protocol):
    """A toolset that says what has to be approved."""

    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> ApprovalResult:
        """Whether a call is refused, goes ahead, or has to be approved."""
        ...


@runtime_checkable
class SupportsApprovalDescription(Protocol):
    """A toolset that says what a call would do."""

    def get_approval_description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        """What it would do, in a sentence for a person."""
        ...
