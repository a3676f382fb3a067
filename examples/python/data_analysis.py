"""An agent that analyses data: it reads a read-only table, and computes in a sandbox without a network.

    python examples/python/data_analysis.py [TABLE.csv]

Programs see the data at `/data`, read-only, and `/workspace`, in memory. The agent's `report.md` is kept.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from _model import model
from pydantic_ai import Agent

from workden import LinuxSandbox, create_console_toolset

PROGRAM = """\
import csv
from collections import defaultdict

sums = defaultdict(float)
with open("/data/sales.csv", newline="") as table:
    for row in csv.DictReader(table):
        sums[row["region"]] += float(row["amount"])
with open("report.md", "w") as report:
    for region, total in sorted(sums.items(), key=lambda entry: -entry[1]):
        print(f"- {region}: {total:.2f}", file=report)
"""


@dataclass
class Deps:
    """Dependencies with the backend of the console tools."""

    backend: LinuxSandbox


agent = Agent(
    model(
        ("execute", {"command": "head -n 3 /data/sales.csv"}),
        ("write_file", {"path": "analyse.py", "content": PROGRAM}),
        ("execute", {"command": "python3 analyse.py && cat report.md"}),
    ),
    deps_type=Deps,
    # Commands run in the sandbox, so they need no approval.
    toolsets=[create_console_toolset(require_execute_approval=False)],
)


def main(table: Path) -> str:
    """Returns the agent's report on a table."""
    with tempfile.TemporaryDirectory() as data:
        (Path(data) / "sales.csv").write_bytes(table.read_bytes())
        with LinuxSandbox(volumes={data: "/data:ro"}, memory="1G") as sandbox:
            agent.run_sync("Which regions sell most? Write a report.", deps=Deps(sandbox))
            return sandbox.read_bytes("report.md").decode()


def sample() -> str:
    """Runs it on a small table."""
    with tempfile.TemporaryDirectory(prefix="workden-example-") as directory:
        table = Path(directory, "sales.csv")
        table.write_text("region,amount\nnorth,10.5\nsouth,20\nnorth,12\n")
        return main(table)


if __name__ == "__main__":
    print(main(Path(sys.argv[1])) if len(sys.argv) > 1 else sample())
