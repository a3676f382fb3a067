"""A command-line agent: it works in a directory of this machine, and asks before it runs a command.

    python examples/python/local_agent.py [DIRECTORY [PROMPT]]

`--yes` approves every command.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass

from _model import model
from pydantic_ai import Agent

from workden import LocalBackend, create_console_toolset

FIBONACCI = "a, b = 0, 1\nfor _ in range(10):\n    print(a, end=' ')\n    a, b = b, a + b\nprint()\n"


@dataclass
class Deps:
    """Dependencies with the backend of the console tools."""

    backend: LocalBackend


agent = Agent(
    model(
        ("write_file", {"path": "fibonacci.py", "content": FIBONACCI}),
        ("execute", {"command": "python3 fibonacci.py"}),
    ),
    deps_type=Deps,
    toolsets=[create_console_toolset()],
)


def main(arguments: list[str]) -> str:
    """Runs the agent, and returns its final answer."""
    words = [argument for argument in arguments if argument != "--yes"]
    prompt = words[1] if len(words) > 1 else "Create a Python script that calculates fibonacci and run it"

    def approves(operation: str, target: str, reason: str) -> bool:
        if len(words) < len(arguments):
            return True
        return input(f"{operation} `{target}`? [y/N] ").strip().lower() == "y"

    with tempfile.TemporaryDirectory(prefix="workden-example-") as scratch:
        with LocalBackend(root_dir=words[0] if words else scratch, ask_callback=approves) as backend:
            return agent.run_sync(prompt, deps=Deps(backend)).output


if __name__ == "__main__":
    print(main(sys.argv[1:]))
