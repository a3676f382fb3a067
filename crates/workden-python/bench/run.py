"""`cargo xtask bench python`: compares this package with its two reference libraries in one run.

Each contender is a separate process, and they take turns, so that a slow moment of the machine affects both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import material
from tasks import TASKS, Task

OURS = ("workden", "workden.filesystem")
THEIRS = ("pydantic_ai_backends", "pydantic_ai_filesystem_sandbox")
BASH = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
TITLES = ("what", "found", "theirs min / median", "ours min / median", "ours : theirs", "target", "verdict", "peaks")


class Contender:
    """A worker process, and its protocol."""

    def __init__(self, python: str, modules: tuple[str, str], ground: Path, scratch: Path, environment: Mapping[str, str]):
        command = [python, str(Path(__file__).with_name("worker.py")), *modules, str(ground), str(scratch)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=dict(environment))

    def tell(self, told: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        print(json.dumps(told), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": "its process is gone"}

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@dataclass
class Row:
    """The result of a task."""

    task: Task
    found: Any = None
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    peaks: tuple[int, int] = (0, 0)
    error: str | None = None

    @property
    def faster(self) -> float:
        """The ratio of the medians: how many times faster workden is."""
        return statistics.median(self.theirs) / statistics.median(self.ours)

    @property
    def verdict(self) -> str:
        if self.error:
            return "ERROR"
        longest = statistics.median(self.theirs) / self.task.at_least + self.task.slack
        return "pass" if statistics.median(self.ours) <= longest else "MISS"

    def cells(self) -> tuple[str, ...]:
        if self.error:
            return (self.task.name, "-", "-", "-", "-", _target(self.task), self.error[:60], "-")
        found = str(self.found) if len(str(self.found)) < 10 else "the same"
        faster = f"{self.faster:.1f} x faster" if self.faster >= 1 else f"{1 / self.faster:.2f} x slower"
        peaks = " / ".join(f"{peak / 1e6:.0f} MB" for peak in reversed(self.peaks))
        return (
            self.task.name, found, _times(self.theirs), _times(self.ours), faster, _target(self.task), self.verdict, peaks
        )


def _target(task: Task) -> str:
    if task.slack:
        return f"at most {task.slack * 1e3:g} ms slower"
    return "no slower" if task.at_least == 1 else f">= {task.at_least:g} x faster"


def _times(seconds: list[float]) -> str:
    return f"{_time(min(seconds))} / {_time(statistics.median(seconds))}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} us"


def measure(task: Task, ours: Contender, theirs: Contender, rounds: int) -> Row:
    """Runs a task with both contenders in turn."""
    row = Row(task)
    prepared = [contender.tell({"prepare": task.name}) for contender in (ours, theirs)]
    for who, answer in zip(("ours", "theirs"), prepared):
        if "error" in answer:
            row.error = f"{who}: {answer['error']}"
            return row
    if prepared[0]["found"] != prepared[1]["found"]:
        row.error = f"found {str(prepared[0]['found'])[:20]!r}, theirs {str(prepared[1]['found'])[:20]!r}"
        return row
    row.found = prepared[0]["found"]
    for number in range(rounds):
        turns = [(ours, row.ours), (theirs, row.theirs)]
        answers: dict[int, int] = {}
        for contender, times in turns if number % 2 == 0 else reversed(turns):
            answer = contender.tell({"times": 1})
            if "error" in answer:
                row.error = answer["error"]
                return row
            times.append(answer["seconds"])
            answers[id(contender)] = answer["peak"]
        row.peaks = (answers[id(ours)], answers[id(theirs)])
    return row


def compared(tasks: list[Task], wanted: argparse.Namespace, ground: Path, rounds: int, others_path: str) -> list[Row]:
    """Runs tasks with two new contenders, of which the reference has this search path."""
    if not tasks:
        return []
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": others_path}
    ours = Contender(sys.executable, OURS, ground, wanted.home / "scratch-ours", os.environ)
    theirs = Contender(wanted.reference, THEIRS, ground, wanted.home / "scratch-theirs", others)
    rows: list[Row] = []
    for task in tasks:
        rows.append(measure(task, ours, theirs, rounds))
        print(f"... {task.name}: {rows[-1].verdict}", file=sys.stderr, flush=True)
    ours.end()
    theirs.end()
    return rows


def table(rows: list[Row]) -> str:
    lines = [TITLES, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(TITLES))]
    written = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(written)


@contextmanager
def with_our_shell(path: str) -> Iterator[str]:
    """Returns a search path on which `sh` is the shell that workden starts: bash if there is one. Rows about commands
    then compare libraries, not shells."""
    bash = next((file for file in BASH if os.access(file, os.X_OK)), None)
    if bash is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="our-shell-") as made:
        Path(made, "sh").symlink_to(bash)
        yield os.pathsep.join((made, path))


@contextmanager
def without_rg(path: str) -> Iterator[str]:
    """Returns a search path without `rg`. A directory that contains it is replaced by one with links to everything
    else."""
    with tempfile.TemporaryDirectory(prefix="without-rg-") as made:
        yield os.pathsep.join(
            str(_all_but_rg(Path(directory), Path(made, str(number)))) if Path(directory, "rg").exists() else directory
            for number, directory in enumerate(path.split(os.pathsep))
        )


def _all_but_rg(directory: Path, stand_in: Path) -> Path:
    stand_in.mkdir()
    for program in directory.absolute().iterdir():
        if program.name != "rg":
            (stand_in / program.name).symlink_to(program)
    return stand_in


def main() -> int:
    parser = argparse.ArgumentParser(prog="cargo xtask bench python", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="where material and scratch are made")
    parser.add_argument("--reference", required=True, help="the Python that has the other libraries")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--rounds", type=int, default=7, help="at least 5")
    wanted = parser.parse_args()
    ground = material.provide(wanted.home)
    rounds = max(wanted.rounds, 5)
    print(f"{material.DIRECTORIES * material.FILES} files; {rounds} rounds each, in turn; times are minimum / median,")
    print("ratios of medians, peaks of memory theirs / ours\n", flush=True)
    tasks = [task for task in TASKS if wanted.only in task.name]
    with_rg = [task for task in tasks if task.with_rg]
    with with_our_shell(os.environ["PATH"]) as path:
        with without_rg(path) as others_path:
            rows = compared([task for task in tasks if not task.with_rg], wanted, ground, rounds, others_path)
        if shutil.which("rg") is None:
            rows += [Row(task, error="there is no rg here") for task in with_rg]
        else:
            rows += compared(with_rg, wanted, ground, rounds, path)
    print(table(rows))
    missed = [row.task.name for row in rows if row.verdict != "pass"]
    if missed:
        print(f"\n{len(missed)} of {len(rows)} not as they must be: {', '.join(missed)}")
    return 1 if wanted.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
