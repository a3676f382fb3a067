"""One of the two contenders: a process that runs tasks on request, and reports the times.

    worker.py BACKENDS FILESYSTEM_SANDBOX MATERIAL SCRATCH

The tasks are those of `tasks`, or of the module that `WORKDEN_BENCH_TASKS` names.

Requests are lines of JSON, `{"prepare": NAME}` and then `{"times": N}`; so are the answers.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tasks import Context, Task, Timed


def main() -> None:
    backends, sandbox, material, scratch = sys.argv[1:]
    context = Context(_import(backends), _import(sandbox), Path(material), Path(scratch))
    named = importlib.import_module(os.environ.get("WORKDEN_BENCH_TASKS", "tasks"))
    tasks: dict[str, Task] = {task.name: task for task in named.TASKS}
    answers = sys.stdout
    sys.stdout = sys.stderr
    task: Task | None = None
    timed: Timed | None = None
    for line in sys.stdin:
        told = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "prepare" in told:
                shutil.rmtree(context.scratch, ignore_errors=True)
                context.scratch.mkdir(parents=True)
                task = tasks[told["prepare"]]
                timed = task.prepare(context)
                answer["found"] = timed()
                _forget_peak()
            elif task and timed:
                answer["seconds"] = _clocked(timed, task.repeat)
            else:
                answer["peak"] = _peak()
            answer["peak"] = _peak()
            if task and task.after:
                task.after()
        except Exception as error:  # A failure becomes a row of the table.
            answer["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


def _clocked(timed: Timed, repeat: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeat):
        timed()
    return (time.perf_counter() - begin) / repeat


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        return _Missing(str(error))


class _Missing:
    """A module that cannot be imported: using it raises the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise ImportError(self._why)


def _forget_peak() -> None:
    # Resets the kernel's counter; without that, the peak is that of the whole run.
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _peak() -> int:
    """Returns the peak memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
