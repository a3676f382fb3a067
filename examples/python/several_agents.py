"""Several agents over the same files, each with its own permissions: a planner, a writer, and a tester.

    python examples/python/several_agents.py

The planner reads; the writer writes only below `src`; the tester runs tests in a sandbox.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from _model import model
from pydantic_ai import Agent

from workden import LocalBackend, create_console_toolset
from workden.permissions import (
    READONLY_RULESET,
    OperationPermissions,
    PermissionRule,
    PermissionRuleset,
    create_ruleset,
)


@dataclass
class Deps:
    """Dependencies with the backend of the console tools."""

    backend: LocalBackend


def only_below(directory: str) -> PermissionRuleset:
    """Allows reading everything, and writing below one directory."""
    writing = OperationPermissions(
        default="deny",
        rules=[PermissionRule(pattern=f"**/{directory}/**", action="allow")],
    )
    reading = OperationPermissions(default="allow")
    denied = OperationPermissions(default="deny")
    return PermissionRuleset(
        default="deny", read=reading, ls=reading, glob=reading, grep=reading, write=writing, edit=writing, execute=denied
    )


PLANNER = Agent(
    model(("glob", {"pattern": "**/*.md"}), ("read_file", {"path": "README.md"})),
    deps_type=Deps,
    toolsets=[create_console_toolset(permissions=READONLY_RULESET)],
)
WRITER = Agent(
    model(
        ("write_file", {"path": "README.md", "content": "mine"}),  # Refused: the path is not below `src`.
        ("write_file", {"path": "src/double.py", "content": "def double(n):\n    return 2 * n\n"}),
    ),
    deps_type=Deps,
    toolsets=[create_console_toolset(include_execute=False)],
)
TESTER = Agent(
    model(("execute", {"command": "cd src && python3 -c 'from double import double; print(double(21))'"})),
    deps_type=Deps,
    toolsets=[create_console_toolset(require_execute_approval=False)],
)


def main(directory: Path) -> dict[str, str]:
    """Returns the answer of each agent after its work in this directory."""
    (directory / "README.md").write_text("A function that doubles is wanted.\n")
    runs_commands = create_ruleset(default="deny", allow_write=False, allow_execute=True)
    said: dict[str, str] = {}
    for name, agent, backend in [
        ("planner", PLANNER, LocalBackend(directory, permissions=READONLY_RULESET)),
        ("writer", WRITER, LocalBackend(directory, permissions=only_below("src"), enable_execute=False)),
        ("tester", TESTER, LocalBackend(directory, permissions=runs_commands, isolation="linux")),
    ]:
        with backend:
            said[name] = agent.run_sync("Do your part", deps=Deps(backend)).output
    assert (directory / "README.md").read_text() == "A function that doubles is wanted.\n"
    return said


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="workden-example-") as scratch:
        for who, what in main(Path(scratch)).items():
            print(f"--- {who}\n{what}")
