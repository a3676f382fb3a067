"""The tasks of the benchmarks: each is written once, with the names that both libraries share.

A task prepares its inputs, and returns the function to time. Both libraries must return the same result: a time means
nothing if less was done.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Timed = Callable[[], Any]


@dataclass(frozen=True)
class Context:
    """The directories of a task, and its library."""

    lib: Any
    """The backends: `workden` or `pydantic_ai_backends`."""
    sandbox: Any
    """The filesystem sandbox: `workden.filesystem` or `pydantic_ai_filesystem_sandbox`."""
    material: Path
    scratch: Path
    """An empty directory for this contender."""


@dataclass(frozen=True)
class Task:
    """A task that both libraries support."""

    name: str
    prepare: Callable[[Context], Timed]
    repeat: int = 1
    """Number of repetitions per measurement, which is divided by it."""
    at_least: float = 1.0
    """Required ratio to the other library."""
    slack: float = 0.0
    """Seconds by which it may be slower regardless."""
    with_rg: bool = False
    """Whether the other library finds and uses `rg`."""
    after: Callable[[], None] | None = None
    """Cleans up after each measurement, which does not include it."""


TASKS: list[Task] = []


def task(name: str, repeat: int = 1, at_least: float = 1.0, with_rg: bool = False, slack: float = 0.0) -> Any:
    """Registers a task from its preparing function."""

    def add(prepare: Callable[[Context], Timed]) -> Callable[[Context], Timed]:
        TASKS.append(Task(name, prepare, repeat, at_least, slack, with_rg))
        return prepare

    return add


def local(context: Context, part: str) -> Any:
    return context.lib.LocalBackend(root_dir=context.material / part)


def scratch(context: Context, **options: Any) -> Any:
    return context.lib.LocalBackend(root_dir=context.scratch, **options)


@task("read, 50 lines", repeat=200)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: len(backend.read("module_7.py"))


@task("read, 100 lines within 10 MB", repeat=3)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: len(backend.read("large.txt", offset=150_000, limit=100))


@task("read_bytes, 10 MB", repeat=30)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: len(backend.read_bytes("large.txt"))


@task("exists", repeat=500)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: backend.exists("module_7.py")


@task("read, awaited", repeat=200)
def _(context: Context) -> Timed:
    loop = asyncio.new_event_loop()
    backend = context.lib.ensure_async(local(context, "few"))
    return lambda: len(loop.run_until_complete(backend.read("module_7.py")))


@task("write, 600 bytes", repeat=100)
def _(context: Context) -> Timed:
    backend, content = scratch(context), "twelve bytes" * 50
    return lambda: backend.write("a.txt", content).error


@task("write, 10 MB")
def _(context: Context) -> Timed:
    backend, content = scratch(context), "0123456789abcde\n" * (10 * 65536)
    return lambda: backend.write("large.txt", content).error


@task("edit, 2 KB", repeat=100)
def _(context: Context) -> Timed:
    backend = scratch(context)
    backend.write("a.txt", "the quick fox\n" * 150 + "state: 0\n")
    return _toggling(backend, "a.txt")


@task("edit, 10 MB")
def _(context: Context) -> Timed:
    backend = scratch(context)
    backend.write("large.txt", "0123456789abcde\n" * (10 * 65536) + "state: 0\n")
    return _toggling(backend, "large.txt")


def _toggling(backend: Any, path: str) -> Timed:
    turn = itertools.count()

    def toggle() -> Any:
        now = next(turn) % 2
        return backend.edit(path, f"state: {now}", f"state: {1 - now}").occurrences

    return toggle


@task("ls, 50 entries", repeat=20)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: len(backend.ls_info("."))


@task("ls, 10,000 entries", at_least=10)
def _(context: Context) -> Timed:
    backend = local(context, "entries")
    return lambda: len(backend.ls_info("."))


@task("glob **/*.py, 40,000 files", at_least=10)
def _(context: Context) -> Timed:
    backend = local(context, "tree")
    return lambda: len(backend.glob_info("**/*.py"))


@task("glob *.py, 50 files", repeat=20)
def _(context: Context) -> Timed:
    backend = local(context, "few")
    return lambda: len(backend.glob_info("*.py"))


def _grep(name: str, pattern: str) -> None:
    def prepare(context: Context) -> Timed:
        backend = local(context, "tree")
        return lambda: len(backend.grep_raw(pattern))

    task(f"grep {name}, 40,000 files", at_least=10)(prepare)
    task(f"grep {name}, the other with rg", with_rg=True)(prepare)


_grep("rare literal", "a_rare_needle")
_grep("regex", r"def \w+_buffer_handler\(token")
_grep("frequent word", "import")


def _check(operation: str, target: str, rules: str) -> None:
    @task(f"permission check, {operation}", repeat=1000, at_least=10)
    def _(context: Context) -> Timed:
        checker = context.lib.PermissionChecker(getattr(context.lib, rules))
        return lambda: checker.check_sync(operation, target)


_check("read", "/project/src/package/module.py", "DEFAULT_RULESET")
_check("write", "/project/src/package/module.py", "PERMISSIVE_RULESET")
_check("execute", "pytest -q tests", "DEFAULT_RULESET")


@task("hashline, a line", repeat=1000)
def _(context: Context) -> Timed:
    return lambda: context.lib.line_hash("    return value + total")


@task("hashline, format 100,000 lines")
def _(context: Context) -> Timed:
    text = "".join(f"line {number}\n" for number in range(100_000))
    return lambda: len(context.lib.format_hashline_output(text, limit=100_000))


@task("hashline, format 100 of 100,000 lines")
def _(context: Context) -> Timed:
    text = "".join(f"line {number}\n" for number in range(100_000))
    return lambda: context.lib.format_hashline_output(text, offset=50_000, limit=100)


@task("hashline, edit of 100,000 lines")
def _(context: Context) -> Timed:
    text = "".join(f"line {number}\n" for number in range(100_000))
    mark = context.lib.line_hash("line 50000")
    return lambda: len(context.lib.apply_hashline_edit(text, 50_001, mark, "another")[0])


def _state(context: Context, files: int) -> Any:
    backend = context.lib.StateBackend()
    text = "\n".join(f"value = {number}" for number in range(50))
    for number in range(files):
        backend.write(f"/d{number % 100}/file_{number}.py", f"{text}\nname = {number}")
    return backend


@task("state: write", repeat=200)
def _(context: Context) -> Timed:
    backend, turn = context.lib.StateBackend(), itertools.count()
    text = "\n".join(f"value = {number}" for number in range(50))
    return lambda: backend.write(f"/a{next(turn) % 100}.py", text).error


@task("state: read", repeat=200)
def _(context: Context) -> Timed:
    backend = _state(context, 100)
    return lambda: backend.read("/d7/file_7.py")


@task("state: edit", repeat=200)
def _(context: Context) -> Timed:
    backend = context.lib.StateBackend()
    backend.write("/a.txt", "the quick fox\n" * 50 + "state: 0\n")
    return _toggling(backend, "/a.txt")


@task("state: ls /d7, 10,000 files")
def _(context: Context) -> Timed:
    backend = _state(context, 10_000)
    return lambda: len(backend.ls_info("/d7"))


@task("state: glob **/*.py, 10,000 files")
def _(context: Context) -> Timed:
    backend = _state(context, 10_000)
    return lambda: len(backend.glob_info("**/*.py"))


@task("state: grep, 10,000 files")
def _(context: Context) -> Timed:
    backend = _state(context, 10_000)
    return lambda: len(backend.grep_raw("name = 9950$"))


@task("composite: read through a route", repeat=200)
def _(context: Context) -> Timed:
    routes = {"/d7/": _state(context, 100)}
    backend = context.lib.CompositeBackend(default=context.lib.StateBackend(), routes=routes)
    return lambda: backend.read("/d7/file_7.py")


# A command runs under a reaper process, which prevents orphans.
@task("execute true", repeat=20, slack=0.0005)
def _(context: Context) -> Timed:
    backend = scratch(context)
    return lambda: backend.execute("true").exit_code


@task("execute true, awaited", repeat=20, slack=0.0005)
def _(context: Context) -> Timed:
    loop, backend = asyncio.new_event_loop(), scratch(context)

    async def run() -> Any:
        return (await backend.async_execute("true")).exit_code

    return lambda: loop.run_until_complete(run())


@task("execute, 20 MB of output")
def _(context: Context) -> Timed:
    backend = scratch(context)
    return lambda: backend.execute("head -c 20000000 /dev/zero | tr '\\0' x").truncated


def toolset(context: Context) -> Any:
    chosen = context.sandbox.FileSystemToolset.create_default(str(context.scratch))
    chosen.write("data/a.txt", "the quick fox\n" * 50)
    return chosen


@task("filesystem sandbox: read", repeat=100)
def _(context: Context) -> Timed:
    tools = toolset(context)
    return lambda: len(tools.read("data/a.txt").content)


@task("filesystem sandbox: write", repeat=100)
def _(context: Context) -> Timed:
    tools = toolset(context)
    return lambda: tools.write("data/b.txt", "the quick fox\n" * 50)


@task("filesystem sandbox: can_write", repeat=200)
def _(context: Context) -> Timed:
    sandbox = toolset(context).sandbox
    return lambda: sandbox.can_write("data/a.txt")


@task("filesystem sandbox: list 10,000 files")
def _(context: Context) -> Timed:
    tools = context.sandbox.FileSystemToolset.create_default(str(context.material / "entries"))
    return lambda: len(tools.list_files("data"))
