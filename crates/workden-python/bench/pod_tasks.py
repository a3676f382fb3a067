"""The tasks of `cargo xtask bench kubernetes`: each is written once, with the names that both libraries share.

`WORKDEN_BENCH_POD` has the options of the contender as JSON. Its pod is created by the first task.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tasks import Context, Task, Timed

TASKS: list[Task] = []
SETTINGS: dict[str, Any] = json.loads(os.environ.get("WORKDEN_BENCH_POD", "{}"))
MANY = 20
# Pods that only one measurement needs have this label.
SHORT = "workden-bench-short"
_shared: list[Any] = []
_short: list[Any] = []


def task(name: str, repeat: int = 1, after: Any = None) -> Any:
    """Registers a task from its preparing function."""

    def add(prepare: Any) -> Any:
        TASKS.append(Task(name, prepare, repeat, after=after))
        return prepare

    return add


def made(context: Context, **options: Any) -> Any:
    """Returns a sandbox that is not started."""
    return context.lib.KubernetesPodSandbox(SETTINGS["image"], **SETTINGS["options"], **options)


def new(context: Context) -> Any:
    """Returns a sandbox that is not started, and that `forget` stops."""
    sandbox = made(context, labels={SHORT: SETTINGS["label"]})
    _short.append(sandbox)
    return sandbox


def forget() -> None:
    """Stops the sandboxes of a measurement, and waits until their pods are gone."""
    with ThreadPoolExecutor(MANY) as threads:
        list(threads.map(lambda sandbox: sandbox.stop(), _short))
    _short.clear()
    kubectl = [*SETTINGS["kubectl"], "wait", "--for=delete", "pods", "-l", f"{SHORT}={SETTINGS['label']}"]
    subprocess.run([*kubectl, "--timeout=90s"], check=True, stdout=subprocess.DEVNULL)


def shared(context: Context) -> Any:
    """Returns the sandbox of the file tasks, with 20 small files."""
    if not _shared:
        sandbox = made(context)
        sandbox.start()
        lines = "\n".join(f"line {number} = value" for number in range(50))
        for number in range(20):
            sandbox.write(f"/workspace/tree/module_{number}.py", lines + f"\ndef handler_{number}(): pass\n")
        _shared.append(sandbox)
    return _shared[0]


def end() -> None:
    """Stops the sandbox of the file tasks."""
    for sandbox in _shared:
        sandbox.stop()
    _shared.clear()


@task("read", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    return lambda: sandbox.read("/workspace/tree/module_7.py").count("= value")


@task("write", repeat=4)
def _(context: Context) -> Timed:
    sandbox, content = shared(context), "twelve bytes" * 50
    return lambda: sandbox.write("/workspace/new.txt", content).error


@task("ls", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    return lambda: len([row for row in sandbox.ls_info("/workspace/tree") if row["name"].startswith("module_")])


@task("glob", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    return lambda: len(sandbox.glob_info("*.py", "/workspace/tree"))


@task("grep", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    return lambda: len(sandbox.grep_raw("def handler_7", "/workspace/tree"))


@task("edit", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    sandbox.write("/workspace/edited.txt", "old text\n")
    words = ["old", "new"]

    def edit() -> Any:
        answer = sandbox.edit("/workspace/edited.txt", *words)
        words.reverse()
        return answer.error

    return edit


@task("execute", repeat=4)
def _(context: Context) -> Timed:
    sandbox = shared(context)
    return lambda: sandbox.execute("echo hello").output.strip()


@task("create to first output", after=forget)
def _(context: Context) -> Timed:
    def create() -> Any:
        sandbox = new(context)
        sandbox.start()
        return sandbox.execute("echo hello").output.strip()

    return create


@task("stop")
def _(context: Context) -> Timed:
    # One for the trial, and one for each round.
    ready = [made(context) for _ in range(1 + SETTINGS["rounds"])]
    with ThreadPoolExecutor(len(ready)) as threads:
        list(threads.map(lambda sandbox: sandbox.start(), ready))
    return lambda: ready.pop().stop()


@task(f"{MANY} at once, to first output", after=forget)
def _(context: Context) -> Timed:
    def one(_: int) -> str:
        sandbox = new(context)
        sandbox.start()
        return sandbox.execute("echo hello").output

    def create() -> Any:
        with ThreadPoolExecutor(MANY) as threads:
            return len([output for output in threads.map(one, range(MANY)) if output == "hello\n"])

    return create


@task("end")
def _(context: Context) -> Timed:
    return end
