"""deepagents over workden backends: its agent with a scripted model, and each method directly."""

from __future__ import annotations

import asyncio
import base64
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from waiting import timed_out, until, until_async
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import SandboxBackendProtocol, execute_accepts_timeout
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import workden.integrations.deepagents
from workden.types import ExecuteResponse
from workden.backends.linux import LinuxSandbox
from workden.backends.local import LocalBackend
from workden.integrations.deepagents import WorkdenBackend, WorkdenSandbox, deep_backend


class Scripted(BaseChatModel):
    """A model that calls these tools one after the other."""

    script: list[tuple[str, dict[str, Any]]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        if turn < len(self.script):
            name, arguments = self.script[turn]
            answer = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{turn}"}])
        else:
            answer = AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def script(root: str | Path) -> list[tuple[str, dict[str, Any]]]:
    program = f"{root}/fibonacci.py"
    content = "a, b = 0, 1\nfor _ in range(9):\n    a, b = b, a + b\nprint(b)\n"
    return [
        ("write_file", {"file_path": program, "content": content}),
        ("edit_file", {"file_path": program, "old_string": "print(b)", "new_string": "print('answer', a)"}),
        ("grep", {"pattern": "print('answer', a)", "path": str(root), "output_mode": "content"}),
        ("execute", {"command": f"python3 {program}"}),
        ("read_file", {"file_path": program}),
        ("ls", {"path": str(root)}),
        ("glob", {"pattern": "*.py", "path": str(root)}),
    ]


def answers(messages: list[BaseMessage]) -> list[str]:
    return [str(message.content) for message in messages if isinstance(message, ToolMessage)]


def expect(said: list[str], root: str | Path) -> None:
    program = f"{root}/fibonacci.py"
    written, edited, found, ran, read, listed, globbed = said
    assert written == f"Updated file {program}"
    assert "1" in edited and program in edited
    assert program in found and "print('answer', a)" in found
    assert "answer 34" in ran
    assert "print('answer', a)" in read and "print(b)" not in read
    assert program in listed and program in globbed


def test_an_agent_writes_edits_greps_and_executes(tmp_path: Path) -> None:
    with LocalBackend(root_dir=tmp_path) as local:
        agent = create_deep_agent(model=Scripted(script=script(tmp_path)), backend=deep_backend(local))
        said = agent.invoke({"messages": [("user", "fibonacci, please")]})
    assert said["messages"][-1].content == "done"
    expect(answers(said["messages"]), tmp_path)
    program = str(tmp_path / "fibonacci.py")
    assert subprocess.run(["python3", program], capture_output=True, text=True).stdout == "answer 34\n"


def test_an_agent_that_is_awaited_does_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with LocalBackend(root_dir=tmp_path) as local:
            agent = create_deep_agent(model=Scripted(script=script(tmp_path)), backend=deep_backend(local))
            said = await agent.ainvoke({"messages": [("user", "fibonacci, please")]})
        expect(answers(said["messages"]), tmp_path)

    asyncio.run(main())


def test_an_agent_does_the_same_in_a_sandbox() -> None:
    with LinuxSandbox() as sandbox:
        agent = create_deep_agent(model=Scripted(script=script("/workspace")), backend=deep_backend(sandbox))
        said = agent.invoke({"messages": [("user", "fibonacci, please")]})
    expect(answers(said["messages"]), "/workspace")


def test_results_that_are_too_long_are_put_into_files_of_the_backend(tmp_path: Path) -> None:
    with LocalBackend(root_dir=tmp_path) as local:
        backend = CompositeBackend(default=deep_backend(local), routes={}, artifacts_root=str(tmp_path))
        model = Scripted(script=[("execute", {"command": "seq -f 'line number %g' 6000"})])
        agent = create_deep_agent(model=model, backend=backend)
        said = answers(agent.invoke({"messages": [("user", "go")]})["messages"])
    [kept] = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert str(kept) in said[0] and len(said[0]) < 20_000
    assert "line number 1\n" in kept.read_text() and "line number 6000" in kept.read_text()


def test_an_agent_without_commands_is_told_so(tmp_path: Path) -> None:
    backend = deep_backend(LocalBackend(root_dir=tmp_path, enable_execute=False))
    assert not isinstance(backend, SandboxBackendProtocol)
    agent = create_deep_agent(model=Scripted(script=[("execute", {"command": "touch here"})]), backend=backend)
    said = answers(agent.invoke({"messages": [("user", "go")]})["messages"])
    assert "rror" in said[0] and not (tmp_path / "here").exists()


@pytest.fixture(params=["waits", "awaited"])
def call(request: pytest.FixtureRequest) -> Any:
    """Calls a method, or its async version."""

    def waiting(backend: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(backend, name)(*args, **kwargs)

    def awaiting(backend: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        async def main() -> Any:
            return await getattr(backend, f"a{name}")(*args, **kwargs)

        return asyncio.run(main())

    return waiting if request.param == "waits" else awaiting


@pytest.fixture
def sandbox(tmp_path: Path) -> WorkdenSandbox:
    return WorkdenSandbox(LocalBackend(root_dir=tmp_path, sandbox_id="the-box"))


def test_listing(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "notes.md").write_text("four")
    listed = call(sandbox, "ls", str(tmp_path))
    assert listed.error is None
    assert listed.entries == [
        {"path": f"{tmp_path}/src", "is_dir": True, "size": 0},
        {"path": f"{tmp_path}/notes.md", "is_dir": False, "size": 4},
    ]
    assert call(sandbox, "ls", f"{tmp_path}/src").entries == []
    assert call(sandbox, "ls", f"{tmp_path}/no").error == f"Path '{tmp_path}/no': path_not_found"
    assert call(sandbox, "ls", f"{tmp_path}/notes.md").error == f"Path '{tmp_path}/notes.md': not_a_directory"
    assert "outside allowed directories" in call(sandbox, "ls", "/etc").error


def test_reading(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    (tmp_path / "four.txt").write_text("one\ntwo\nthree\nfour")
    read = call(sandbox, "read", f"{tmp_path}/four.txt", offset=1, limit=2)
    assert read.file_data == {"content": "two\nthree", "encoding": "utf-8"}
    assert (read.start_line, read.end_line, read.total_lines, read.next_offset) == (2, 3, 4, 3)
    assert call(sandbox, "read", f"{tmp_path}/four.txt", offset=-1, limit=0).no_lines_requested
    assert "exceeds file length" in call(sandbox, "read", f"{tmp_path}/four.txt", offset=9).error
    assert call(sandbox, "read", f"{tmp_path}/no.txt").error == f"File '{tmp_path}/no.txt' not found"
    assert call(sandbox, "read", str(tmp_path)).error == f"'{tmp_path}' is a directory"


def test_binary_files_are_read_as_base64(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\xff\x00")
    (tmp_path / "picture.PNG").write_bytes(b"text, by chance")
    for name in ("data.bin", "picture.PNG"):
        read = call(sandbox, "read", f"{tmp_path}/{name}")
        assert read.file_data["encoding"] == "base64"
        assert base64.b64decode(read.file_data["content"]) == (tmp_path / name).read_bytes()


def test_the_last_page_keeps_the_end_of_the_file(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    for name, end in (("with", "\n"), ("without", "")):
        (tmp_path / name).write_text(f"one\n\n{end}")
        assert call(sandbox, "read", f"{tmp_path}/{name}", limit=1).file_data["content"] == "one"
        assert call(sandbox, "read", f"{tmp_path}/{name}").file_data["content"] == f"one\n\n{end}"


def test_a_large_binary_file_is_not_read(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    for name in ("large.png", "large.bin"):
        (tmp_path / name).write_bytes(b"\xff" * 512_000)
        assert call(sandbox, "read", f"{tmp_path}/{name}").file_data["encoding"] == "base64"
        (tmp_path / name).write_bytes(b"\xff" * 512_001)
        read = call(sandbox, "read", f"{tmp_path}/{name}")
        assert read.file_data is None and "exceeds maximum preview size of 512000 bytes" in read.error
        assert len(call(sandbox, "download_files", [f"{tmp_path}/{name}"])[0].content) == 512_001
    assert call(sandbox, "read", f"{tmp_path}/no.png").error == f"File '{tmp_path}/no.png' not found"


def test_writing_and_editing(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    path = f"{tmp_path}/deep/er/file.txt"
    assert call(sandbox, "write", path, "a b a").path == path
    assert "multiple times (2)" in call(sandbox, "edit", path, "a", "c").error
    assert call(sandbox, "edit", path, "a", "c", replace_all=True).occurrences == 2
    assert "not found in file" in call(sandbox, "edit", path, "nothing", "c").error
    assert "not found" in call(sandbox, "edit", f"{tmp_path}/no", "a", "c").error
    assert Path(path).read_text() == "c b c"
    assert "directory" in call(sandbox, "write", str(tmp_path), "x").error
    assert "not UTF-8" in call(sandbox, "write", path, "\ud800").error


def test_deleting(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    path = f"{tmp_path}/tree/file.txt"
    call(sandbox, "write", path, "x")
    assert call(sandbox, "delete", f"{tmp_path}/tree").path == f"{tmp_path}/tree"
    assert not (tmp_path / "tree").exists()
    assert call(sandbox, "delete", path).error == f"Error: '{path}' not found"
    assert "outside allowed directories" in call(sandbox, "delete", "/etc/hostname").error


def test_searching_in_files(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    special = "f(x) = [x^2] + $1.50 | {a-b} ~ \\n # & *?"
    (tmp_path / "a.py").write_text(f"first\n{special}\n")
    (tmp_path / "b.md").write_text(special * 2)
    found = call(sandbox, "grep", special, glob="*.py")
    assert found.matches == [{"path": f"{tmp_path}/a.py", "line": 2, "text": special}]
    assert len(call(sandbox, "grep", special, str(tmp_path)).matches) == 2
    cut = call(sandbox, "grep", special, str(tmp_path), max_count=1)
    assert len(cut.matches) == 1 and cut.truncated
    assert not call(sandbox, "grep", special, str(tmp_path), max_count=2).truncated
    assert call(sandbox, "grep", "f.x.", str(tmp_path)).matches == []
    assert call(sandbox, "grep", "x", f"{tmp_path}/no").matches == []
    assert "outside allowed directories" in call(sandbox, "grep", "root", "/etc").error


def test_finding_files(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    for name in ("top.py", "src/app/main.py", ".github/workflows/ci.yml", ".env", "src/x.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    def found(pattern: str, path: str | None = None) -> set[str]:
        matches = call(sandbox, "glob", pattern, path).matches
        assert all(not match["is_dir"] for match in matches)
        return {str(Path(match["path"]).relative_to(tmp_path)) for match in matches}

    assert found("*.py") == {"top.py", "src/app/main.py"}
    assert found("/*.py") == {"top.py"}
    assert found("src/**/*.py") == {"src/app/main.py"}
    assert found("*.{py,yml}", f"{tmp_path}/src") == {"src/app/main.py", "src/x.yml"}
    assert found("*.yml") == {".github/workflows/ci.yml", "src/x.yml"}
    assert found("**/*.yml") == {"src/x.yml"}
    assert found(".env") == {".env"} and found("[!t]*.py") == {"src/app/main.py"}
    assert "not found" in call(sandbox, "glob", "*", f"{tmp_path}/no").error
    assert "traversal" in call(sandbox, "glob", "../*").error


def test_files_in_and_out(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    inside, outside = f"{tmp_path}/in.bin", "/etc/workden-no"
    sent = call(sandbox, "upload_files", [(outside, b""), (inside, b"\x00\xff"), (str(tmp_path), b"")])
    assert [(one.path, one.error) for one in sent] == [
        (outside, "permission_denied"),
        (inside, None),
        (str(tmp_path), "is_directory"),
    ]
    got = call(sandbox, "download_files", [inside, f"{tmp_path}/no", str(tmp_path)])
    assert [(one.content, one.error) for one in got] == [
        (b"\x00\xff", None),
        (None, "file_not_found"),
        (None, "is_directory"),
    ]


def test_only_absolute_paths_are_uploaded_and_downloaded(sandbox: WorkdenBackend, call: Any, tmp_path: Path) -> None:
    sent = call(sandbox, "upload_files", [("in.txt", b"x"), (f"{tmp_path}/abs.txt", b"y")])
    assert [one.error for one in sent] == ["invalid_path", None]
    assert [path.name for path in tmp_path.iterdir()] == ["abs.txt"]
    got = call(sandbox, "download_files", ["abs.txt", f"{tmp_path}/abs.txt"])
    assert [(one.content, one.error) for one in got] == [(None, "invalid_path"), (b"y", None)]


def test_commands(sandbox: WorkdenSandbox, call: Any) -> None:
    assert sandbox.id == "the-box" and execute_accepts_timeout(type(sandbox))
    ran = call(sandbox, "execute", "echo out; echo err >&2; exit 3")
    assert (ran.output, ran.exit_code, ran.truncated) == ("out\nerr\n", 3, False)
    assert "timed out" in call(sandbox, "execute", "sleep 6000", timeout=1).output
    assert call(sandbox, "execute", "echo on", timeout=0).output == "on\n"


# The middle of this output is omitted elsewhere. It ends with an error, and is no UTF-8 in two places.
LONG = r"printf 'é\377'; seq 60000; echo end >&2; printf '\377'; exit 3"
LONG_OUTPUT = "é\ufffd" + "".join(f"{number}\n" for number in range(1, 60_001)) + "end\n\ufffd"


def test_a_long_output_is_whole(sandbox: WorkdenSandbox, call: Any) -> None:
    ran = call(sandbox, "execute", LONG)
    assert (ran.exit_code, ran.truncated, len(ran.output)) == (3, False, len(LONG_OUTPUT))
    assert ran.output == LONG_OUTPUT
    late = timed_out(lambda seconds: call(sandbox, "execute", "seq 60000; sleep 6000", timeout=seconds), "\n60000\n")
    assert not late.truncated and late.output.endswith("\n60000\nError: Command timed out")
    assert late.output.startswith("1\n2\n") and len(late.output) > 300_000


def test_an_output_of_more_than_ten_megabytes_is_shortened(sandbox: WorkdenSandbox, call: Any) -> None:
    ran = call(sandbox, "execute", "head -c 12000000 /dev/zero | tr '\\0' x")
    assert ran.truncated and ran.exit_code == 0 and len(ran.output) < 200_000
    assert "left out" in ran.output


def test_a_printed_note_does_not_lead_to_another_output(sandbox: WorkdenSandbox, call: Any) -> None:
    call(sandbox, "execute", "seq 100000 160000")
    note = "[... 9 bytes (1 lines) left out; the full output can be read as `exec_1` ...]"
    ran = call(sandbox, "execute", f"echo; echo '{note}'; {LONG}")
    assert ran.output == f"\n{note}\n{LONG_OUTPUT}" and not ran.truncated


def test_a_long_output_is_whole_where_rules_apply(tmp_path: Path) -> None:
    with LocalBackend(root_dir=tmp_path, permissions="permissive", isolation="linux") as local:
        assert WorkdenSandbox(local).execute(LONG).output == LONG_OUTPUT


def test_cancelling_a_command_ends_it(sandbox: WorkdenSandbox, tmp_path: Path) -> None:
    async def main() -> None:
        running = asyncio.create_task(sandbox.aexecute("echo $$ > pid; sleep 6000"))
        await until_async(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    process = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
    until(lambda: not process.exists())


class Notes:
    """A custom backend with only the methods used here."""

    def __init__(self) -> None:
        self.files = {"/notes.txt": b"mine"}

    def exists(self, path: str) -> bool:
        return path in self.files

    def read_bytes(self, path: str) -> bytes:
        return self.files[path]

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return self.files[path].decode()

    def ls_info(self, path: str) -> list[Any]:
        return [{"name": name[1:], "path": name, "is_dir": False, "size": 4} for name in self.files]

    def write(self, path: str, content: str | bytes) -> Any:
        raise NotImplementedError

    edit = glob_info = grep_raw = write


def test_a_custom_backend() -> None:
    backend = deep_backend(Notes())
    assert type(backend) is WorkdenBackend
    assert backend.read("/notes.txt").file_data == {"content": "mine", "encoding": "utf-8"}


class Shortening(Notes):
    """A custom backend whose commands end with an output that it has shortened itself."""

    def __init__(self, output: str) -> None:
        super().__init__()
        self.output = output

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        return ExecuteResponse(output=self.output, exit_code=0, truncated=True)

    id = "shortening"


@pytest.mark.parametrize("log", ["", "; the full output can be read as `exec_1`", "; the full output can be read as `no_1`"])
def test_an_output_without_its_log_stays_short(tmp_path: Path, log: str) -> None:
    shown = f"start\n[... 9 bytes (1 lines) left out{log} ...]\nend"
    ran = WorkdenSandbox(Shortening(shown)).execute("anything")
    assert ran.truncated and "end" in ran.output


def test_a_subclass_with_a_method_of_its_own_is_asked(tmp_path: Path) -> None:
    class Loud(LocalBackend):
        def read_bytes(self, path: str) -> bytes:
            return super().read_bytes(path).upper()

    (tmp_path / "a.txt").write_text("quiet")
    with Loud(root_dir=tmp_path, enable_execute=False) as loud:
        assert deep_backend(loud).download_files([f"{tmp_path}/a.txt"])[0].content == b"QUIET"


def test_without_deepagents_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deepagents.backends.protocol", None)
    with pytest.raises(ImportError, match=r"pip install workden\[deepagents\]"):
        runpy.run_path(str(workden.integrations.deepagents.__file__))
