"""Pydantic AI workspaces in sandboxes and in memory.

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
    raise ImportError("Pydantic AI with workspaces is not installed: pip install 'workden[console]'") from error

from workden._workspace.backends import WorkdenWorkspaceBackend, provider_for
from workden._workspace.memory import WorkdenFilesWorkspaceBackend
from workden._workspace.providers import StateProvider
from workden.backends.state import StateBackend

__all__ = ["WorkdenFilesWorkspaceBackend", "WorkdenWorkspace", "WorkdenWorkspaceBackend"]


@dataclass
class WorkdenWorkspace(AbstractCapability[AgentDepsT]):
    """Gives runs a workspace: a sandbox, or the files of a `StateBackend`.

    A ref leads only to sandboxes that such a workspace created.
    """

    on: Literal["linux", "docker"] | StateBackend = "linux"
    """The kind of sandbox, or the files."""
    options: Mapping[str, Any] | None = None
    """Arguments for `LinuxSandbox` or `DockerSandbox`."""

    _: KW_ONLY

    ttl: float = 3600
    """Seconds that a sandbox lives without a connected client."""
    leases: str | os.PathLike[str] | None = None
    """Directory for the sockets of Linux sandboxes. It must be accessible to this user only."""
    read_only: bool = False
    """Whether to reject changes and commands."""
    authority: Authority = "operator"
    """How far the files are trusted."""
    id: str | None = "workden_workspace"
    """A later workspace with the same id replaces an earlier one."""

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[AgentDepsT]]) -> AbstractCapability[AgentDepsT]:
        """The last one wins as a whole: nothing of a replaced one remains."""
        return capabilities[-1]

    def get_workspace(self, ctx: RunContext[AgentDepsT], *, ref: WorkspaceRef | None) -> WorkspaceBackend | None:
        """Returns the backend for a run, or `None` for a ref of another provider."""
        if isinstance(self.on, str):
            ground = provider_for(self.on, self.options, ttl=self.ttl, leases=self.leases)
        else:
            ground = StateProvider(self.on)
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
