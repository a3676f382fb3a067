"""`CompositeBackend`: native and custom backends in one tree; and async adapters."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from workden import (
    AsyncBackendAdapter,
    AsyncBackgroundSandboxAdapter,
    AsyncCompositeBackend,
    AsyncSandboxAdapter,
    CompositeBackend,
    EditResult,
    ExecuteResponse,
    FilesystemBackend,
    LocalBackend,
    StateBackend,
    WriteResult,
    ensure_async,
)


class Mine:
    """A custom backend: the methods of the protocol, over a dictionary of bytes."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def exists(self, path: str) -> bool:
        return path in self.kept

    def ls_info(self, path: str) -> list[dict[str, Any]]:
        below = path.rstrip("/") + "/"
        inside = [key.removeprefix(below) for key in self.kept if key.startswith(below)]
        directories = sorted({rest.split("/")[0] for rest in inside if "/" in rest})
        files = sorted(rest for rest in inside if "/" not in rest)
        return [{"name": d, "path": below + d, "is_dir": True, "size": None} for d in directories] + [
            {"name": f, "path": below + f, "is_dir": False, "size": len(self.kept[below + f])} for f in files
        ]

    def read_bytes(self, path: str) -> bytes:
        return self.kept.get(path, b"")

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return self.kept[path].decode()

    def write(self, path: str, content: str | bytes) -> WriteResult:
        if path.endswith("refused"):
            return WriteResult(error="not that one")
        if path.endswith("raises"):
            raise FileNotFoundError("no such thing")
        self.kept[path] = content.encode() if isinstance(content, str) else content
        return WriteResult(path=path)

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> Any:
        self.kept[path] = self.kept[path].replace(old_string.encode(), new_string.encode())
        return EditResult(path=path, occurrences=1)

    def glob_info(self, pattern: str, path: str = "/") -> list[dict[str, Any]]:
        return [
            {"name": key.rsplit("/", 1)[1], "path": key, "is_dir": False, "size": 1}
            for key in self.kept
            if key.startswith(path)
        ]

    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[dict[str, Any]] | str:
        if pattern == "wrong":
            return "Error: what a pattern"
        return [
            {"path": key, "line_number": number, "line": line}
            for key, content in self.kept.items()
            for number, line in enumerate(content.decode().splitlines(), 1)
            if pattern in line
        ]


class Awaited(Mine):
    """The same, async."""

    async def exists(self, path: str) -> bool:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().exists(path)

    async def ls_info(self, path: str) -> list[dict[str, Any]]:  # type: ignore[override]
        return super().ls_info(path)

    async def read_bytes(self, path: str) -> bytes:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().read_bytes(path)

    async def write(self, path: str, content: str | bytes) -> WriteResult:  # type: ignore[override]
        return super().write(path, content)

    async def glob_info(self, pattern: str, path: str = "/") -> list[dict[str, Any]]:  # type: ignore[override]
        return super().glob_info(pattern, path)

    async def grep_raw(self, *args: Any) -> list[dict[str, Any]] | str:  # type: ignore[override]
        return super().grep_raw(*args)


def found(backend: Any, pattern: str, path: str | None = None) -> list[str]:
    return sorted(match["path"] for match in backend.grep_raw(pattern, path))


def test_each_route_has_its_backend(tmp_path: Path) -> None:
    default, mine, awaited, memory = StateBackend(), Mine(), Awaited(), StateBackend()
    disk = FilesystemBackend(tmp_path)
    backend = CompositeBackend(default, {"/disk/": disk, "/mine": mine, "/later": awaited, "memory": memory})
    assert backend.default is default and backend.routes["/mine"] is mine
    for path in ("/disk/d.txt", "/mine/m.txt", "/later/l.txt", "/memory/s.txt", "/t.txt"):
        assert backend.write(path, f"needle {path}").path == path
    # Only a host directory is its own tree: the others know the whole path.
    assert (tmp_path / "d.txt").read_text() == "needle /disk/d.txt"
    assert list(mine.kept) == ["/mine/m.txt"] and list(awaited.kept) == ["/later/l.txt"]
    assert list(memory.files) == ["/memory/s.txt"] and list(default.files) == ["/t.txt"]
    everything = ["/disk/d.txt", "/later/l.txt", "/memory/s.txt", "/mine/m.txt", "/t.txt"]
    assert found(backend, "needle") == found(backend, "needle", "/") == everything
    assert sorted(info["path"] for info in backend.glob_info("**/*.txt")) == everything
    assert found(backend, "needle", "/mine") == ["/mine/m.txt"]
    assert [info["name"] for info in backend.ls_info("/")] == ["disk", "later", "memory", "mine", "t.txt"]
    assert [info["path"] for info in backend.ls_info("/later")] == ["/later/l.txt"]
    assert backend.read("/later/l.txt") == "     1\tneedle /later/l.txt"
    assert backend.edit("/mine/m.txt", "needle", "pin").occurrences == 1
    assert mine.kept["/mine/m.txt"] == b"pin /mine/m.txt"


def test_the_longest_prefix_decides_and_the_root_is_the_default() -> None:
    outer, inner, default = StateBackend(), StateBackend(), StateBackend()
    backend = CompositeBackend(default, {"/a": outer, "/a/b/": inner, "/": StateBackend()})
    backend.write("/a/x", "1")
    backend.write("/a/b/x", "2")
    backend.write("/ab/x", "3")
    assert [list(each.files) for each in (outer, inner, default)] == [["/a/x"], ["/a/b/x"], ["/ab/x"]]


def test_a_prefix_outside_of_a_local_backends_directories_is_left_out(tmp_path: Path) -> None:
    local = LocalBackend(tmp_path / "shared")
    backend = CompositeBackend(StateBackend(), {"/data": local})
    assert backend.write("/data/x", "1").path == "/data/x"
    assert (tmp_path / "shared/x").read_text() == "1" and found(backend, "1") == ["/data/x"]
    whole = CompositeBackend(StateBackend(), {str(tmp_path / "shared"): local})
    whole.write(str(tmp_path / "shared/y"), "2")
    assert (tmp_path / "shared/y").read_text() == "2"
    memory = StateBackend()
    CompositeBackend(StateBackend(), {"/m": memory}, strip_prefix=True).write("/m/x", "1")
    assert list(memory.files) == ["/x"]


def test_with_a_sandbox_as_default_it_executes_there(tmp_path: Path) -> None:
    backend = CompositeBackend(LocalBackend(tmp_path), {"/m": StateBackend()})
    backend.write("x.sh", "echo from $PWD")
    assert backend.execute("sh x.sh").output == f"from {tmp_path}\n"
    assert [info["name"] for info in backend.ls_info(".")] == ["x.sh"]
    handle = backend.execute_background("sleep 50")
    assert backend.kill_background(handle.shell_id)
    files_only = CompositeBackend(StateBackend())
    assert "has no sandbox" in files_only.execute("true").output


def test_messages_of_a_python_backend_are_kept() -> None:
    mine = Mine()
    backend = CompositeBackend(StateBackend(), {"/m": mine})
    assert "not that one" in str(backend.write("/m/refused", "x").error)
    assert "not found" in str(backend.write("/m/raises", "x").error)
    mine.write("/m/bytes", b"\xff")
    backend.write("/m/sub/x", "1")
    assert backend.read_bytes("/m/bytes") == b"\xff" and backend.read("/m/nope") == "Error: File '/m/nope' not found"
    assert backend.read("/m/sub") == "Error: '/m/sub' is a directory"
    assert "what a pattern" in str(backend.grep_raw("wrong", "/m"))
    assert backend.write("/m/new", b"\xfe").error is None and mine.kept["/m/new"] == b"\xfe"


class Commands(Mine):
    """A backend with its own commands."""

    work_dir = "/somewhere"

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        return ExecuteResponse(output=f"{command} for {timeout}", exit_code=7)


class Cancelled(Commands):
    """One with commands that can be cancelled."""

    async def async_execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        return ExecuteResponse(output=f"{command}, awaited", exit_code=0)


def test_commands_of_a_backend_in_python() -> None:
    backend = CompositeBackend(Commands())
    assert backend.execute("true", timeout=5).output == "true for 5"
    assert backend.execute("true").exit_code == 7 and backend.list_background() == []
    assert CompositeBackend(Cancelled()).execute("x").output == "x, awaited"
    with pytest.raises(RuntimeError, match="background"):
        backend.execute_background("true")
    assert backend.write("x", "1").path == "/somewhere/x"


class Overriding(StateBackend):
    """A native backend with an overridden method."""

    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(path).upper()


async def test_an_answer_that_is_made_while_it_is_read_may_call_us(tmp_path: Path) -> None:
    behind = LocalBackend(tmp_path)

    class Lazy(Mine):
        def ls_info(self, path: str) -> Any:
            # A command never completes at once: its caller waits on a thread of the runtime.
            yield {"path": f"/{behind.execute('echo file').output.strip()}", "is_dir": False, "size": 1}

        glob_info = lambda self, pattern, path="/": self.ls_info(path)  # noqa: E731

    backend = CompositeBackend(Lazy())
    for found in (backend.ls_info("/"), backend.glob_info("*"), await ensure_async(backend).ls_info("/")):
        assert [info["name"] for info in found] == ["file"]


async def test_calls_through_several_layers_do_not_wait_for_each_other() -> None:
    class Behind(Mine):
        inner: Any = None

        def read_bytes(self, path: str) -> bytes:
            time.sleep(0.05)
            return self.inner.read_bytes(path) if self.inner else b"here"

    outer: Any = None
    for _ in range(3):
        layer = Behind()
        layer.inner = outer
        outer = CompositeBackend(layer)
    # More than the former number of threads, with which all of them waited for one more.
    reads = [ensure_async(outer).read_bytes("/a") for _ in range(560)]
    assert set(await asyncio.wait_for(asyncio.gather(*reads), 240)) == {b"here"}


def test_overridden_methods_are_called() -> None:
    overriding = Overriding()
    backend = CompositeBackend(StateBackend(), {"/o": overriding})
    backend.write("/o/x", "loud")
    assert backend.read("/o/x") == "     1\tLOUD" and overriding.files["/o/x"]["content"] == ["loud"]


async def test_ensure_async_knows_what_it_is_given(tmp_path: Path) -> None:
    local, awaited = LocalBackend(tmp_path), Awaited()
    assert ensure_async(awaited) is awaited
    adapter = ensure_async(local)
    assert type(adapter) is AsyncBackgroundSandboxAdapter and ensure_async(adapter) is adapter
    assert adapter.unwrap() is local
    assert type(ensure_async(Commands())) is AsyncSandboxAdapter
    assert type(ensure_async(Mine())) is AsyncBackendAdapter


async def test_ours_are_awaited_and_others_called_in_threads(tmp_path: Path) -> None:
    for backend in (LocalBackend(tmp_path), StateBackend(), Mine()):
        awaited = ensure_async(backend)
        path = "x.txt" if isinstance(backend, LocalBackend) else "/x.txt"
        assert (await awaited.write(path, "one")).error is None
        assert await awaited.exists(path) and await awaited.read_bytes(path) == b"one"
        assert "one" in await awaited.read(path)
        assert len(await awaited.ls_info("." if isinstance(backend, LocalBackend) else "/")) == 1
        assert len(await awaited.glob_info("*.txt", "." if isinstance(backend, LocalBackend) else "/")) == 1
        assert len(await awaited.grep_raw("one")) == 1
        if not isinstance(backend, Mine):
            assert (await awaited.edit(path, "one", "two")).occurrences == 1
            assert (await awaited.edit(path, "one", "two")).error == "String 'one' not found in file"


async def test_commands_to_be_awaited(tmp_path: Path) -> None:
    awaited = ensure_async(LocalBackend(tmp_path))
    assert (await awaited.execute("echo hi")).output == "hi\n"
    handle = await awaited.execute_background("echo bg; sleep 6000")
    while not (await awaited.read_background(handle.shell_id)).stdout:
        await asyncio.sleep(0.02)
    assert len(await awaited.list_background()) == 1 and await awaited.kill_background(handle.shell_id)
    await awaited.kill_all_background()
    assert (await ensure_async(Cancelled()).execute("x")).output == "x, awaited"
    assert (await ensure_async(Commands()).execute("x")).output == "x for None"


async def test_a_private_read_bytes_is_found_where_there_is_no_other() -> None:
    class WithoutPublic:
        def _read_bytes(self, path: str) -> bytes:
            return b"older"

    assert await AsyncBackendAdapter(WithoutPublic()).read_bytes("/x") == b"older"


async def test_an_async_composite_takes_both_kinds(tmp_path: Path) -> None:
    mine, awaited = Mine(), Awaited()
    backend = AsyncCompositeBackend(LocalBackend(tmp_path), {"/m": mine, "/a": AsyncBackendAdapter(awaited)})
    await backend.write("/m/x", "needle")
    await backend.write("/a/x", "needle")
    await backend.write("l.txt", "needle")
    assert sorted(m["path"] for m in await backend.grep_raw("needle", "/")) == sorted(
        ["/a/x", "/m/x", f"{tmp_path}/l.txt"]
    )
    assert (await backend.execute("cat l.txt")).output == "needle"
    answers = await asyncio.gather(*[backend.read("/a/x") for _ in range(20)])
    assert set(answers) == {"     1\tneedle"}
