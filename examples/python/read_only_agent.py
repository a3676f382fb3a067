"""An agent that reviews code: it may read everything except secrets, and change nothing.

    python examples/python/read_only_agent.py [DIRECTORY]

Tools that it may not use are not offered.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _model import model
from pydantic_ai import Agent

from workden import ConsoleCapability, LocalBackend
from workden.permissions import READONLY_RULESET


def main(directory: Path) -> str:
    """Returns a review of the directory."""
    agent = Agent(
        model(
            ("grep", {"pattern": "TODO", "output_mode": "content"}),
            ("read_file", {"path": ".env"}),  # Refused, and the run continues.
            ("grep", {"pattern": "TODO", "output_mode": "content"}),
        ),
        capabilities=[ConsoleCapability(backend=LocalBackend(root_dir=directory), permissions=READONLY_RULESET)],
    )
    return agent.run_sync("What is left to do in this project?").output


def sample() -> str:
    """Reviews a project with an open TODO."""
    with tempfile.TemporaryDirectory(prefix="workden-example-") as directory:
        Path(directory, "app.py").write_text("def main():\n    pass  # TODO: say hello\n")
        Path(directory, ".env").write_text("KEY=secret\n")
        return main(Path(directory))


if __name__ == "__main__":
    print(main(Path(sys.argv[1])) if len(sys.argv) > 1 else sample())
