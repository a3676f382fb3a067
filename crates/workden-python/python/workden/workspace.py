"""Workspaces of Pydantic AI, in sandboxes and in memory.

```python
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from workden.workspace import WorkdenWorkspace

agent = Agent(TestModel(), capabilities=[WorkdenWorkspace("linux")])
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import Authority
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.workspaces import (
        AuthorityWorkspace,
        ReadOnlyWorkspace,
        Workspace,
        WorkspaceBackend,
        WorkspaceRef,
    )
except ImportError as error:
    raise ImportError("a Pydantic AI that has workspaces is not installed: pip install workden[console]") from error

from workden._workspace.backends import WorkdenWorkspaceBackend, ground_of
from workden._workspace.grounds import StateGround
from workden._workspace.memory import WorkdenFilesWorkspaceBackend
from workden.backends.state import StateBackend

__all__ = ["WorkdenFilesWorkspaceBackend", "WorkdenWorkspace", "WorkdenWorkspaceBackend"]


@dataclass
class WorkdenWorkspace(AbstractCapability[AgentDepsT]):
    """Gives runs a workspace: a sandbox of their own, or the files of a `StateBackend`.

    A ref leads back to a sandbox that such a workspace made, and nowhere else on this machine.
    """

    on: Literal["linux", "docker"] | StateBackend = "linux"
    """In which kind of sandbox, or in which files."""
    options: Mapping[str, Any] | None = None
    """What a `LinuxSandbox` or a `DockerSandbox` is made with."""

    _: KW_ONLY

    ttl: float = 3600
    """How many seconds a sandbox lives while nobody is connected to it."""
    leases: str | os.PathLike[str] | None = None
    """Where the sockets of Linux sandboxes are: a directory of this user alone."""
    read_only: bool = False
    """Whether nothing may be changed, and no command run."""
    authority: Authority = "operator"
    """How far the files are to be believed."""
    id: str | None = "workden_workspace"
    """A later workspace of the same id replaces an earlier one."""

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[AgentDepsT]]) -> AbstractCapability[AgentDepsT]:
        """The last one, whole: nothing of one that was replaced is left."""
        return capabilities[-1]

    def get_workspace(self, ctx: RunContext[AgentDepsT], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """The backend for a run; `None` for a ref that is none of ours."""
        if isinstance(self.on, str):
            ground = ground_of(self.on, self.options, ttl=self.ttl, leases=self.leases)
        else:
            ground = StateGround(self.on)
        if ref is not None and (ref.provider != ground.provider or not ground.is_own(ref.id)):
            return None
        workspace: WorkspaceBackend
        if isinstance(self.on, str):
            workspace = WorkdenWorkspaceBackend(self.on, self.options, ref=ref, ttl=self.ttl, leases=self.leases)
        else:
            workspace = WorkdenFilesWorkspaceBackend(self.on, ref=ref)
        if self.read_only:
            workspace = ReadOnlyWorkspace(Workspace(workspace))
        if self.authority != "operator":
            workspace = AuthorityWorkspace(Workspace(workspace), authority=self.authority)
        return workspace
