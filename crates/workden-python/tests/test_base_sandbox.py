"""`BaseSandbox` over the shell of this machine and over busybox."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from workden.backends.base import BaseSandbox
from workden.protocol import SandboxProtocol
from workden.types import EditResult, ExecuteResponse

OUTPUT_LIMIT = 100_000
NAMES = ["a b.txt", "it's.txt", 'say "hi".txt', "$(touch pwned).txt", "-rf", "a\nb.txt", "*.txt", "é", "colon:1:x.txt", "`id`"]


class Shell(BaseSandbox):
    """A custom sandbox: a shell, and output that is cut."""

    def __init__(self, directory: Path, shell: list[str]) -> None:
        super().__init__()
        self.directory, self.shell = directory, shell
        self.commands: list[str] = []

    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        self.commands.append(command)
        ran = subprocess.run(
            [*self.shell, "-c", command], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout
        )
        text = ran.stdout.decode(errors="replace")
        return ExecuteResponse(text[:OUTPUT_LIMIT], ran.returncode, truncated=len(text) > OUTPUT_LIMIT)

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return super().edit(path, old_string, new_string, replace_all)


@pytest.fixture(params=["sh", "busybox"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    work = tmp_path / "work"
    work.mkdir()
    if request.param == "sh":
        return Shell(work, ["sh"])
    busybox = shutil.which("busybox")
    assert busybox is not None, "install the package busybox-static"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in subprocess.check_output([busybox, "--list"], text=True).split():
        (programs / name).symlink_to(busybox)
    return Shell(work, ["env", "-i", f"PATH={programs}", str(programs / "sh")])


def names(infos: object) -> list[str]:
    assert isinstance(infos, list)
    return [info["name"] for info in infos]


def test_properties_and_lifecycle(shell: Shell) -> None:
    assert isinstance(shell, SandboxProtocol) and len(shell.id) == 36
    assert abs(shell._last_activity - time.time()) < 60
    assert (shell.start(), shell.is_alive(), shell.stop()) == (None, False, None)
    with pytest.raises(TypeError, match="abstract"):
        BaseSandbox()  # type: ignore[abstract]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_name(shell: Shell, name: str) -> None:
    content = b"x needle\n\xff\0 end"
    for path in (name, f"deep dir/{name}"):
        assert shell.write(path, content).path == path
        assert (shell.directory / path).read_bytes() == content
        assert shell.exists(path) and shell.read_bytes(path) == content
        assert shell.read(path).startswith("     1\tx needle\n")
        assert shell.edit(path, "needle", "thread").occurrences == 1
        assert (shell.directory / path).read_bytes() == content.replace(b"needle", b"thread")
    assert names(shell.ls_info("deep dir")) == [name]
    assert shell.ls_info(f"deep dir/{name}") == [
        {"name": name, "path": f"deep dir/{name}", "is_dir": False, "size": len(content)}
    ]
    assert names(shell.glob_info("**/*", ".")) == [name, name]
    assert sorted(os.listdir(shell.directory)) == sorted([name, "deep dir"])


def test_lines_are_numbered_as_everywhere(shell: Shell) -> None:
    shell.write("f", "a\nb\r\nc")
    assert shell.read("f") == "     1\ta\n     2\tb\n     3\tc"
    assert shell.read("f", 1, 1) == "     2\tb\n\n... (1 more lines)"
    assert shell.read("f", 3) == "Error: Offset 3 exceeds file length (3 lines)"
    assert shell.read("f", -5, 1) == "     1\ta\n\n... (2 more lines)"
    shell.write("empty", "")
    assert shell.read("empty") == "" and shell.read_bytes("empty") == b"" and shell.exists("empty")
    assert shell.read("none") == "Error: File 'none' not found"
    (shell.directory / "d").mkdir()
    assert shell.read("d") == "Error: 'd' is a directory"
    os.mkfifo(shell.directory / "pipe")
    assert shell.read("pipe") == "Error: 'pipe' is not a readable file"
    assert shell.read_bytes("pipe") == b"" and not shell.exists("d")
    assert shell.read("a\0b").startswith("Error: ") and not shell.exists("a\0b")


def test_large_files_go_in_pieces(shell: Shell) -> None:
    content = os.urandom(300_001)
    assert shell.write("large", content).error is None
    assert max(len(command) for command in shell.commands) < 100_000
    assert (shell.directory / "large").read_bytes() == content
    assert shell.read_bytes("large") == content
    lines = "".join(f"line {n} {'x' * 80}\n" for n in range(3000))
    shell.write("lines", lines)
    assert shell.read("lines", 0, 3000).count("\n") == 2999
    assert sorted(os.listdir(shell.directory)) == ["large", "lines"]


def test_writing_is_whole_or_not_at_all(shell: Shell) -> None:
    file = shell.directory / "script.sh"
    file.write_text("old")
    file.chmod(0o755)
    (shell.directory / "link").symlink_to("script.sh")
    assert shell.write("link", "new").error is None
    assert file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o755
    assert (shell.directory / "link").is_symlink()
    (shell.directory / "d").mkdir()
    assert shell.write("d", "x") == shell.write("d", "x") and shell.write("d", "x").error == "Is a directory"
    assert shell.write("script.sh/below", "x").error and file.read_text() == "new"
    assert "UTF-8" in (shell.write("script.sh", "\ud800").error or "") and file.read_text() == "new"
    assert shell.write("a\0b", "x").error
    assert sorted(os.listdir(shell.directory)) == ["d", "link", "script.sh"]


def test_edits_say_what_the_reference_says(shell: Shell) -> None:
    (shell.directory / "f").write_bytes(b"one\r\ntwo one \xff\n")
    assert shell.edit("none", "a", "b").error == "File 'none' not found"
    assert shell.edit("f", "x", "b").error == "String 'x' not found in file"
    assert shell.edit("f", "", "b").error == "String '' not found in file"
    again = "Use replace_all=True to replace all, or provide more context."
    assert shell.edit("f", "one", "b").error == f"String 'one' found 2 times. {again}"
    assert shell.edit("f", "one", "1", replace_all=True) == EditResult(path="f", occurrences=2)
    assert (shell.directory / "f").read_bytes() == b"1\r\ntwo 1 \xff\n"


def test_listing(shell: Shell) -> None:
    for directory in ("z dir", ".hidden"):
        (shell.directory / directory).mkdir()
    (shell.directory / "b").write_text("bb")
    (shell.directory / "dangling").symlink_to("nowhere")
    (shell.directory / "to dir").symlink_to("z dir")
    found = shell.ls_info(".")
    assert [(info["name"], info["is_dir"], info["size"]) for info in found] == [
        (".hidden", True, None),
        ("to dir", True, None),
        ("z dir", True, None),
        ("b", False, 2),
        ("dangling", False, None),
    ]
    assert found[3]["path"] == "b"
    (shell.directory / "z dir" / "x").touch()
    assert shell.ls_info("to dir")[0]["path"] == "to dir/x"
    assert shell.ls_info("none") == [] and shell.ls_info("z dir/x")[0]["size"] == 0
    many = shell.directory / "many"
    many.mkdir()
    for n in range(3000):
        (many / f"a file with a rather long name {n:06}").touch()
    assert len(shell.ls_info("many")) == 3000


def test_globs(shell: Shell) -> None:
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt", "src/[x].py", ".venv/e.py"):
        shell.write(path, "x")

    def found(pattern: str, path: str = ".") -> list[str]:
        return [info["path"] for info in shell.glob_info(pattern, path)]

    assert found("*.py") == ["a.py"]
    assert found("**/*.py") == [".venv/e.py", "a.py", "src/[x].py", "src/b.py", "src/deep/c.py"]
    assert found("**/*.py", "src") == ["src/[x].py", "src/b.py", "src/deep/c.py"]
    assert found("src/*.{py,txt}") == ["src/[x].py", "src/b.py", "src/d.txt"]
    assert found("src/?.py") == ["src/b.py"] and found("src/[!a].*") == ["src/b.py", "src/d.txt"]
    assert found("/src/**") == ["src/[x].py", "src/b.py", "src/d.txt", "src/deep/c.py"]
    assert found("x'; touch pwned; '*") == [] and found("") == [] and found("*", "none") == []
    assert found("[x].py", "src/") == [] and found("\\", ".") == []
    assert not (shell.directory / "pwned").exists()
    last = "/".join(shell.directory.parts[-3:])
    absolute = [info["path"] for info in shell.glob_info(f"**/{last}/src/b.py", str(shell.directory.parents[2]))]
    assert absolute == [str(shell.directory / "src/b.py")]


def test_globs_start_at_the_root(tmp_path: Path) -> None:
    class Recorded(Shell):
        def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
            self.commands.append(command)
            return ExecuteResponse("", 1)

    recorded = Recorded(tmp_path, [])
    assert recorded.glob_info("**/b.py") == [] and "find -H / " in recorded.commands[0]


def test_searches(shell: Shell) -> None:
    for path, text in {
        "a.py": "one\ndon't\n",
        "src/b.py": "two\none two\r\n",
        "src/c.txt": "one",
        ".hidden/d.py": "one",
        "src/.e.py": "one",
        "colon:1:x.py": "one",
    }.items():
        shell.write(path, text)
    shell.write("binary", b"one\0\xff\n")

    def found(*arguments: object, **more: object) -> list[tuple[str, int]]:
        matches = shell.grep_raw(*arguments, **more)  # type: ignore[arg-type]
        assert isinstance(matches, list), matches
        return [(match["path"], match["line_number"]) for match in matches if match["path"] != "binary"]

    usual = [("a.py", 1), ("colon:1:x.py", 1), ("src/b.py", 2), ("src/c.txt", 1)]
    assert found("one") == usual
    assert found("^(one|two)$", "src") == [("src/b.py", 1), ("src/c.txt", 1)]
    assert found("one", ".", "*.py") == [("a.py", 1), ("colon:1:x.py", 1), ("src/b.py", 2)]
    assert found("one", glob="src/*.{py,txt}") == [("src/b.py", 2), ("src/c.txt", 1)]
    assert found("one", ignore_hidden=False) == sorted([*usual, (".hidden/d.py", 1), ("src/.e.py", 1)])
    assert found("one", ".hidden") == [(".hidden/d.py", 1)] and found("one", "src/.e.py") == [("src/.e.py", 1)]
    assert found("don't") == [("a.py", 2)] and found("--files") == [] and found("nowhere to be found") == []
    assert found("x'; touch pwned; echo '") == [] and not (shell.directory / "pwned").exists()
    shell.write("numbers", "a 12\tb]\n")
    for pattern in (r"\d\d", r"[\d]2", r"(?:1)2\tb", r"\w \d+", "[]b]", r"b\]"):
        assert found(pattern, "numbers") == [("numbers", 1)], pattern
    assert found(r"[^\d]2", "numbers") == found(r"[(?:]", "numbers") == []
    matches = shell.grep_raw("one two")
    assert isinstance(matches, list) and matches[0]["line"] == "one two"
    assert shell.grep_raw("one", "none") == "Error: Path 'none' not found"
    assert str(shell.grep_raw("(")).startswith("Error: Invalid regex pattern: ")
    assert str(shell.grep_raw("a\0b")).startswith("Error: ")


def test_a_sandbox_that_does_not_answer(tmp_path: Path) -> None:
    class Broken(Shell):
        def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
            return ExecuteResponse("no daemon", 1)

    broken = Broken(tmp_path, [])
    assert broken.read("f") == "Error: no daemon" and broken.read_bytes("f") == b""
    assert broken.write("f", "x").error == "no daemon" and broken.ls_info(".") == []
    assert broken.grep_raw("x") == "Error: no daemon" and broken.edit("f", "a", "b").error == "File 'f' not found"

    class Silent(Shell):
        def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
            ran = super().execute(command, timeout)
            return ran if "mktemp" in command else ExecuteResponse("", 1)

    silent = Silent(tmp_path, ["sh"])
    (tmp_path / "large").write_bytes(bytes(100_000))
    assert silent.read_bytes("large") == b"" and silent.write("f", "x").error == "the command failed with exit code 1"
    (tmp_path / "small").write_text("a")
    assert silent.edit("small", "a", "b").error == "the command failed with exit code 1"


def test_no_pattern_takes_long(shell: Shell) -> None:
    shell.write("a/" * 20 + "x.py", "text")
    shell.write("a" * 200, "text")
    # Each pattern has an exponential number of readings: a backtracking search would never end.
    assert shell.glob_info("**/" * 25 + "?py", ".") == [] and shell.glob_info("*a" * 20 + "?b*", ".") == []
    assert shell.glob_info("{a,b}" * 40, ".") == []
    assert names(shell.glob_info("{" + ",".join(f"{n}" for n in range(999)) + ",**/x.py}", ".")) == ["x.py"]
    assert str(shell.grep_raw("text", ".", "{a,b}" * 40)).startswith("Error: Invalid glob pattern")


def test_a_pattern_that_is_none_finds_nothing(shell: Shell) -> None:
    shell.write("a", "text")
    for pattern in ("[z-a]", "[]", "{a"):
        assert shell.glob_info(pattern, ".") == []
