"""`LocalBackend`: host directories under their own names, and the host's shell."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from waiting import is_running, long_sleep, timed_out, until_async, until_gone

from workden import LinuxSandbox, LocalBackend, LocalSandbox
from workden._files import NativeFiles
from workden._native import Failure
from workden.backends import local
from workden.permissions import OperationPermissions, PermissionRule, PermissionRuleset


@pytest.fixture
def backend(tmp_path: Path) -> LocalBackend:
    return LocalBackend(root_dir=tmp_path)


def names(infos: list) -> list[str]:
    return [info["name"] for info in infos]


def test_relative_paths_start_at_the_root_and_absolute_ones_are_of_the_host(backend: LocalBackend, tmp_path: Path) -> None:
    written = backend.write("a/x.txt", "one\ntwo\n")
    assert (written.path, written.error) == (str(tmp_path / "a/x.txt"), None)
    assert (tmp_path / "a/x.txt").read_bytes() == b"one\ntwo\n"
    assert backend.read(str(tmp_path / "a/x.txt")) == backend.read("a/x.txt") == "     1\tone\n     2\ttwo"
    assert backend.read(Path("a") / "x.txt", 1) == "     2\ttwo"  # type: ignore[arg-type]
    assert backend.read("a/x.txt", limit=1) == "     1\tone\n\n... (1 more lines)"
    assert backend.exists("a/x.txt") and not backend.exists("a") and not backend.exists("nope")


def test_listing(backend: LocalBackend, tmp_path: Path) -> None:
    for name in ("b.txt", ".hidden", "sub/c.txt"):
        backend.write(name, "x")
    assert names(backend.ls_info(".")) == ["sub", ".hidden", "b.txt"]
    assert backend.ls_info("b.txt") == [
        {"name": "b.txt", "path": str(tmp_path / "b.txt"), "is_dir": False, "size": 1}
    ]
    assert backend.ls_info("nope") == [] == backend.ls_info("/etc")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nope.txt", "Error: File 'nope.txt' not found"),
        ("sub", "Error: 'sub' is a directory"),
        ("/etc/passwd", "Error: Access denied: '/etc/passwd' is outside allowed directories ({root})"),
        ("../x", "Error: Access denied: '../x' is outside allowed directories ({root})"),
    ],
)
def test_messages_for_unreadable_paths(backend: LocalBackend, tmp_path: Path, path: str, said: str) -> None:
    backend.write("sub/x", "x")
    assert backend.read(path) == said.format(root=tmp_path)
    assert backend.read_bytes(path) == b""
    assert not backend.exists(path)


def test_odd_windows_and_names_are_answers(backend: LocalBackend) -> None:
    backend.write("x", "a\nb\n")
    assert backend.read("x", 5) == "Error: Offset 5 exceeds file length (2 lines)"
    assert backend.read("x", -3) == backend.read("x")
    assert backend.read("x", 0, -1) == "\n\n... (2 more lines)"
    assert backend.write("empty", "").error is None and backend.read("empty") == ""
    for odd in ("a\0b", "n" * 300):
        assert backend.read(odd).startswith("Error: ") and backend.write(odd, "x").error
    assert backend.write("s", "\ud800").error == "the content cannot be written as UTF-8: surrogates not allowed"
    assert not backend.exists("s")
    assert backend.write("/etc/workden-test", "x").error.startswith("Access denied")  # type: ignore[union-attr]


def test_a_file_that_vanishes_after_a_read_past_its_end() -> None:
    class Vanishing:
        kinds = ["out_of_range", "not_found"]

        def read(self, path: str, offset: int, limit: int) -> None:
            failure = Failure("cannot read")
            failure.kind, failure.refusal = self.kinds.pop(0), None
            raise failure

    files = NativeFiles()
    files._native = Vanishing()  # type: ignore[assignment]
    assert files.read("x", 5) == "Error: File 'x' not found"


def test_links_that_lead_out_lead_nowhere(backend: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "in").symlink_to("x")
    backend.write("x", "inside")
    assert backend.read("in") == "     1\tinside"
    assert "root:" not in backend.read("out") and backend.read("loop").startswith("Error: ")
    assert names(backend.ls_info(".")) == ["in", "loop", "out", "x"]
    os.mkfifo(tmp_path / "fifo")
    # A read that opened it would never return.
    assert backend.read("fifo").startswith("Error: ")


def test_an_edit_keeps_every_other_byte(backend: LocalBackend) -> None:
    backend.write("x", b"\xef\xbb\xbfone\r\ntwo\r\n")
    edited = backend.edit("x", "two", "three")
    assert (edited.path, edited.error, edited.occurrences) == ("x", None, 1)
    assert backend.read_bytes("x") == b"\xef\xbb\xbfone\r\nthree\r\n"
    assert backend.edit("x", "e", "E", replace_all=True).occurrences == 3
    for old, said in [
        ("zz", "String 'zz' not found in file"),
        ("E", "String 'E' found 3 times. Use replace_all=True to replace all, or provide more context."),
    ]:
        assert backend.edit("x", old, "y").error == said
    assert backend.edit("nope", "a", "b").error == "File 'nope' not found"
    assert backend.edit(".", "a", "b").error == "File '.' not found"


def test_files_are_found_by_name_and_by_content(backend: LocalBackend, tmp_path: Path) -> None:
    backend.write("old.py", "needle")
    os.utime(tmp_path / "old.py", (1, 1))
    backend.write("sub/new.py", "a needle\n")
    backend.write(".hidden.py", "needle")
    assert names(backend.glob_info("**/*.py"))[-1] == "old.py"
    assert names(backend.glob_info("*.py", "sub")) == ["new.py"]
    assert backend.glob_info("*", "nope") == [] == backend.glob_info("*", "/etc")
    found = backend.grep_raw("need.e")
    assert sorted((m["path"], m["line_number"], m["line"]) for m in found) == [  # type: ignore[index]
        (str(tmp_path / "old.py"), 1, "needle"),
        (str(tmp_path / "sub/new.py"), 1, "a needle"),
    ]
    assert len(backend.grep_raw("needle", ignore_hidden=False)) == 3
    assert len(backend.grep_raw("needle", glob="new.*")) == 1 == len(backend.grep_raw("needle", ".hidden.py"))
    assert backend.grep_raw("--pre=sh") == []
    assert str(backend.grep_raw("(")).startswith("Error: Invalid regex pattern: ")
    assert backend.grep_raw("x", "nope") == "Error: Path 'nope' not found"
    assert backend.grep_raw("x", "/etc") == f"Error: Access denied: '/etc' is outside allowed directories ({tmp_path})"


def test_several_directories_and_other_spellings_of_them(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "one")
    (tmp_path / "one").mkdir()
    backend = LocalBackend(allowed_directories=[tmp_path / "link", tmp_path / "two", tmp_path / "two/below"])
    assert backend.root_dir == tmp_path / "one" and (tmp_path / "two/below").is_dir()
    assert backend.allowed_directories == [tmp_path / "one", tmp_path / "two", tmp_path / "two/below"]
    assert backend.write(str(tmp_path / "link/x"), "1").path == str(tmp_path / "one/x")
    assert backend.write(str(tmp_path / "two/below/y"), "2").error is None
    assert backend.read("x") == "     1\t1"
    assert backend.read(str(tmp_path / "three")).startswith("Error: Access denied")


def test_properties(backend: LocalBackend, tmp_path: Path) -> None:
    assert len(backend.id) == 36 and backend.execute_enabled
    assert backend.permissions is None is backend.permission_checker
    assert LocalBackend(tmp_path, sandbox_id="me").id == "me"
    older = LocalSandbox(tmp_path, "older")
    assert (older.id, older.work_dir) == ("older", tmp_path)
    assert older.execute("pwd").output == f"{tmp_path}\n"
    assert local.MAX_EXECUTE_OUTPUT == 100_000 and local.MAX_READ_OUTPUT == 200_000
    assert local.DEFAULT_READ_LIMIT == 2000 and ".git" in local.GREP_SKIP_DIRS


def test_the_default_root_is_the_current_directory(in_tmp: Path) -> None:
    assert LocalBackend().root_dir == in_tmp


def test_commands_run_where_the_files_are(backend: LocalBackend, tmp_path: Path) -> None:
    backend.write("x.sh", "echo out; echo err >&2; pwd; exit 3")
    ran = backend.execute("sh x.sh")
    assert (ran.output, ran.exit_code, ran.truncated) == (f"out\nerr\n{tmp_path}\n", 3, False)
    assert backend.execute("kill -TERM $$").exit_code == 128 + 15
    assert backend.execute("printf '\\377'").output == "\ufffd"
    assert backend.execute("read x || echo closed").output == "closed\n"
    cut = backend.execute("yes | head -c 300000")
    assert cut.truncated and len(cut.output) < 101_000 and "left out" in cut.output


def test_time_is_over_and_nothing_is_left(backend: LocalBackend) -> None:
    sleep = long_sleep()
    line = f"(setsid {sleep} &) ; echo before; {sleep}"
    ran = timed_out(lambda seconds: backend.execute(line, timeout=seconds), "before")
    assert (ran.output, ran.exit_code) == ("before\nError: Command timed out", 124)
    until_gone(sleep)
    assert backend.execute(sleep, timeout=0).exit_code == 124
    # It holds the output, and nothing waits for it.
    assert backend.execute(f"{sleep} & echo hi").output == "hi\n"
    backend.close()
    until_gone(sleep)


def test_the_environment_is_that_of_the_process_or_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKDEN_TEST_SECRET", "s3")
    assert LocalBackend(tmp_path).execute("echo $WORKDEN_TEST_SECRET").output == "s3\n"
    few = LocalBackend(tmp_path, env=["WORKDEN_TEST_OTHER"])
    assert few.execute("echo $WORKDEN_TEST_SECRET; echo ${PATH:+path}").output == "\npath\n"


def test_commands_can_be_left_out(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, enable_execute=False)
    with pytest.raises(RuntimeError, match="^Shell execution is disabled for this backend"):
        backend.execute("true")
    assert not backend.execute_enabled and backend.list_background() == []
    with pytest.raises(RuntimeError, match="has no sandbox"):
        backend.execute_background("true")
    backend.close()


def test_in_the_background(backend: LocalBackend) -> None:
    with backend as same:
        first, second, third = long_sleep(), long_sleep(), long_sleep()
        handle = same.execute_background(f"echo one; sleep 0.2; echo two >&2; (setsid {first} &) ; {first}")
        assert (handle.shell_id, handle.command[:8]) == ("bg_1", "echo one") and handle.pid > 0
        said = ""
        while "two" not in said:
            read = same.read_background("bg_1")
            said += read.stdout
            assert read.running and read.stderr == "" and read.exit_code is None
        assert said == "one\ntwo\n" and same.read_background("bg_1").stdout == ""
        (info,) = same.list_background()
        assert (info.shell_id, info.pid, info.running) == ("bg_1", handle.pid, True)
        assert same.kill_background("bg_1") and not same.kill_background("bg_1") and not same.kill_background("bg_9")
        until_gone(first)
        gone = same.read_background("bg_9")
        assert (gone.stderr, gone.running) == ("No such background shell: bg_9", False)
        same.execute_background(second)
        same.execute_background("true")
        same.kill_all_background()
        until_gone(second)
        same.execute_background(third)
    until_gone(third)


async def test_a_cancelled_command_ends_with_all_it_started(backend: LocalBackend) -> None:
    async with backend:
        sleep = long_sleep()
        task = asyncio.create_task(backend.async_execute(f"(setsid {sleep} &) ; {sleep}"))
        await until_async(lambda: is_running(sleep))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        until_gone(sleep)
        assert (await backend.async_execute("echo hi")).output == "hi\n"


def test_a_text_is_no_list_of_its_letters(tmp_path: Path, in_tmp: Path) -> None:
    # The first letter would be the root of the machine.
    with pytest.raises(TypeError, match="allowed_directories must be a list"):
        LocalBackend(allowed_directories=str(tmp_path))
    with pytest.raises(TypeError, match="env must be a list"):
        LocalBackend(env="HOME")  # type: ignore[arg-type]
    for name in ("masked", "read_only", "pass_env", "toolchains"):
        with pytest.raises(TypeError, match=f"{name} must be a list"):
            LinuxSandbox(**{name: "secret"})  # type: ignore[arg-type]
    assert list(in_tmp.iterdir()) == []


def test_no_directories_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    backend = LocalBackend(tmp_path, allowed_directories=[], enable_execute=False)
    assert backend.allowed_directories == [] and not backend.exists("a.txt") and backend.ls_info(".") == []
    assert "here" not in backend.read("a.txt") and backend.write("b.txt", "x").error is not None
    assert backend.glob_info("**/*") == [] and [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_commands_in_a_sandbox_cannot_open_what_the_rules_deny(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=hidden")
    (tmp_path / "read.py").write_text("print(open('.e' + 'nv').read())")
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/.env", action="deny")], default="allow")
    )
    with LocalBackend(tmp_path, isolation="linux", permissions=rules, ask_callback=lambda *_: True) as backend:
        # An analysis of the line cannot know the content of a file.
        ran = backend.execute("python3 read.py; cat .e*")
    assert ran.exit_code == 1 and "Permission denied" in ran.output and "hidden" not in ran.output


def test_in_a_sandbox_nothing_of_the_host_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKDEN_TEST_SECRET", "s3")
    with LocalBackend(tmp_path / "work", isolation="linux") as backend:
        backend.write("x.txt", "seen")
        ran = backend.execute("cat x.txt; pwd; echo $WORKDEN_TEST_SECRET; ls /home /etc/shadow; id -u; touch made")
        lines = ran.output.splitlines()
        assert lines[:3] == [f"seen{tmp_path}/work", "", *lines[2:3]] and "1000" in lines
        assert "No such file" in ran.output and backend.exists("made")


def test_without_its_program_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "program", lambda: None)
    ran = LocalBackend(tmp_path).execute("true")
    assert ran.exit_code == 1 and "program `workden`" in ran.output


def test_the_constructor_rejects_invalid_options(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="for containers, use DockerSandbox"):
        LocalBackend(tmp_path, isolation="docker")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown permission preset 'none'"):
        LocalBackend(tmp_path, permissions="none")
    with pytest.raises(ValueError, match="rule 1 of `read`"):
        LocalBackend(tmp_path, permissions={"read": {"rules": [{"pattern": "[z-a]", "action": "deny"}]}})


def test_rules_by_their_name(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, permissions="readonly")
    assert backend.permissions is not None and "denied" in str(backend.write("a", "x").error).lower()
