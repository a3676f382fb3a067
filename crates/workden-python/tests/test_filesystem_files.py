"""Files of a sandbox, through the methods of `FileSystemToolset`."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import DEADLINE, LONG
from sandboxes import named, rooted

from workden._native import Failure
from workden.filesystem import (
    EditError,
    FileSystemToolset,
    FileTooLargeError,
    PathConfig,
    PathNotInSandboxError,
    PathNotWritableError,
    ReadResult,
    Sandbox,
    SandboxConfig,
    SandboxError,
    SuffixNotAllowedError,
)
from workden.filesystem._exceptions import exception


def test_reading_by_characters(host: Path):
    files = FileSystemToolset(named(host))
    (host / "in/long.txt").write_text("aé𝄞\r\n" + "x" * 10)
    for options, content, cut, offset in [
        ({}, "aé𝄞\r\n" + "x" * 10, False, 0),
        ({"max_chars": 3}, "aé𝄞", True, 0),
        ({"max_chars": 4, "offset": 2}, "𝄞\r\nx", True, 2),
        ({"offset": 15}, "", False, 15),
        ({"offset": 10**30}, "", False, 10**30),
        ({"max_chars": 0}, "", True, 0),
        ({"max_chars": 10**30, "offset": 5}, "x" * 10, False, 5),
    ]:
        assert files.read("input/long.txt", **options) == ReadResult(
            content=content, truncated=cut, total_chars=15, offset=offset, chars_read=len(content)
        ), options
    for options, message in [({"offset": -1}, "offset must be >= 0, got -1"), ({"max_chars": -5}, "max_chars must be >= 0, got -5")]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            files.read("input/long.txt", **options)


def test_reading_more_than_one_answer_holds(host: Path):
    text = "0123456789" * 45_000
    (host / "in/long.txt").write_text(text)
    files = FileSystemToolset(named(host))
    assert files.read("input/long.txt").chars_read == 20_000
    assert files.read("input/long.txt", max_chars=10**6).content == text
    assert files.read("input/long.txt", max_chars=420_000, offset=7).content == text[7:420_007]


def test_writing_and_editing(host: Path):
    files = FileSystemToolset(named(host, max_file_bytes=20))
    assert files.write("/output/new/dir/x.md", "héllo\n") == "Written 6 characters to output/new/dir/x.md"
    assert files.edit("output//new/dir/x.md", "héllo", "hi") == "Edited output/new/dir/x.md: replaced 5 chars with 2 chars"
    assert (host / "out/new/dir/x.md").read_text() == "hi\n"
    (host / "out/crlf.md").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    files.edit("output/crlf.md", "a", "A")
    assert (host / "out/crlf.md").read_bytes() == b"\xef\xbb\xbfA\r\nb\r\n"
    for old, reason in [("nothing", "text not found in file"), ("o", "text found 2 times (must be unique)")]:
        with pytest.raises(EditError) as raised:
            files.edit("output/b.md", old, "x")
        assert (raised.value.path, raised.value.reason, raised.value.old_text) == ("output/b.md", reason, old)
    with pytest.raises(EditError, match="^Cannot edit 'output/b.md': the text to replace is empty.\nSearched for: ''$"):
        files.edit("output/b.md", "", "x")
    with pytest.raises(FileTooLargeError) as large:
        files.write("output/not/made/x.md", "ü" * 11)
    assert (large.value.path, large.value.size, large.value.limit) == ("output/not/made/x.md", 22, 20)
    assert not (host / "out/not").exists()
    with pytest.raises(FileTooLargeError):
        files.edit("output/b.md", "of", "x" * 20)
    (host / "out/large.md").write_text("x" * 21)
    for refused in (lambda: files.read("output/large.md"), lambda: files.edit("output/large.md", "x" * 21, "")):
        with pytest.raises(FileTooLargeError, match="Maximum allowed: 20 bytes"):
            refused()
    assert FileSystemToolset(rooted(host)).write("x.md", "1") == "Written 1 characters to /x.md"


def test_moving_copying_and_deleting(host: Path):
    files = FileSystemToolset(named(host))
    assert files.copy("input/a.md", "output/new/a.md") == "Copied input/a.md to output/new/a.md"
    assert files.move("output/new/a.md", "output/other/b.md") == "Moved output/new/a.md to output/other/b.md"
    assert (host / "out/other/b.md").read_text() == "of the input" and not (host / "out/new/a.md").exists()
    assert files.delete("output/other/b.md") == "Deleted output/other/b.md"
    assert not (host / "out/other/b.md").exists() and (host / "in/a.md").exists()


OTHER = [
    ("read", ("output/x.md",), FileNotFoundError, "File not found: output/x.md"),
    ("read", ("output/b.md/x",), FileNotFoundError, "File not found: output/b.md/x"),
    ("read", ("output/reports",), IsADirectoryError, "Not a file: output/reports"),
    ("read", ("output/fifo.md",), IsADirectoryError, "Not a file: output/fifo.md"),
    ("write", ("output/fifo.md", "x"), IsADirectoryError, "Not a file: output/fifo.md"),
    ("write", ("output/reports", "x"), IsADirectoryError, "Not a file: output/reports"),
    ("write", ("output/b.md/x.md", "x"), NotADirectoryError, "Not a directory: output/b.md"),
    ("edit", ("output/fifo.md", "x", "y"), IsADirectoryError, "Not a file: output/fifo.md"),
    ("edit", ("output/x.md", "x", "y"), FileNotFoundError, "File not found: output/x.md"),
    ("delete", ("output/x.md",), FileNotFoundError, "File not found: output/x.md"),
    ("delete", ("output/reports",), IsADirectoryError, "Cannot delete directory with delete_file: output/reports"),
    ("move", ("output/x.md", "output/y.md"), FileNotFoundError, "Source file not found: output/x.md"),
    ("move", ("output/reports", "output/y"), IsADirectoryError, "Cannot move directory: output/reports"),
    ("move", ("output/b.md", "output/reports/c.md"), FileExistsError, "Destination already exists: output/reports/c.md"),
    ("copy", ("output/x.md", "output/y.md"), FileNotFoundError, "Source file not found: output/x.md"),
    ("copy", ("output/reports", "output/y"), IsADirectoryError, "Cannot copy directory: output/reports"),
    ("copy", ("output/b.md", "output/reports/c.md"), FileExistsError, "Destination already exists: output/reports/c.md"),
    ("read", ("output/binary.md",), SandboxError, "Cannot read 'output/binary.md': file appears to be binary or not UTF-8 encoded.\nThis tool only reads text files. For binary files, pass them as attachments."),
    ("edit", ("output/binary.md", "x", "y"), SandboxError, "Cannot edit 'output/binary.md': file appears to be binary or not UTF-8 encoded.\nThis tool only edits text files. For binary files, pass them as attachments."),
]  # fmt: skip


@pytest.mark.parametrize(("method", "arguments", "error", "message"), OTHER)
@pytest.mark.parametrize("suffixes", [None, [".md", ""]])
def test_failed_operations_raise(host: Path, method: str, arguments: tuple[str, ...], error: type, message: str, suffixes: Any):
    os.mkfifo(host / "out/fifo.md")
    (host / "out/binary.md").write_bytes(bytes(range(256)))
    with pytest.raises(error) as raised:
        getattr(FileSystemToolset(named(host, suffixes=suffixes)), method)(*arguments)
    assert type(raised.value) is error and str(raised.value) == message


REFUSED = [
    ("read", ("nope/x.md",), PathNotInSandboxError, "nope/x.md"),
    ("write", ("input/a.md", "x"), PathNotWritableError, "input/a.md"),
    ("write", ("../x.md", "x"), PathNotInSandboxError, "../x.md"),
    ("edit", ("input/a.md", "of", "x"), PathNotWritableError, "input/a.md"),
    ("delete", ("input/a.md",), PathNotWritableError, "input/a.md"),
    ("move", ("input/a.md", "output/a.md"), PathNotWritableError, "input/a.md"),
    ("move", ("output/b.md", "input/b.md"), PathNotWritableError, "input/b.md"),
    ("move", ("output/b.md", "output/b.exe"), SuffixNotAllowedError, "output/b.exe"),
    ("copy", ("output/b.md", "input/b.md"), PathNotWritableError, "input/b.md"),
    ("copy", ("nope/b.md", "output/x.md"), PathNotInSandboxError, "nope/b.md"),
    ("copy", ("input/a.md", "../x.md"), PathNotInSandboxError, "../x.md"),
    ("copy", ("input/large.md", "output/large.md"), FileTooLargeError, "output/large.md"),
    ("move", ("output/x.exe", "output/y.md"), SuffixNotAllowedError, "output/x.exe"),
    ("delete", ("output/x.exe",), SuffixNotAllowedError, "output/x.exe"),
    ("list_files", ("nope",), PathNotInSandboxError, "nope"),
    ("list_files", ("../",), PathNotInSandboxError, "../"),
]


@pytest.mark.parametrize(("method", "arguments", "error", "path"), REFUSED)
def test_refusals_name_the_path_as_typed(host: Path, method: str, arguments: tuple[str, ...], error: type, path: str):
    (host / "in/large.md").write_text("x" * 21)
    (host / "out/x.exe").write_text("x")
    with pytest.raises(error) as raised:
        getattr(FileSystemToolset(named(host, suffixes=[".md"], max_file_bytes=20)), method)(*arguments)
    assert raised.value.path == path
    assert str(host) not in str(raised.value)


def test_moving_regards_the_size_allowed_there(host: Path):
    paths = {"big": PathConfig(root="out", mode="rw"), "small": PathConfig(root="small", mode="rw", max_file_bytes=5)}
    files = FileSystemToolset(Sandbox(SandboxConfig(paths=paths), host))
    with pytest.raises(FileTooLargeError):
        files.move("big/b.md", "small/b.md")
    assert (host / "out/b.md").exists() and not (host / "small/b.md").exists()


def test_a_directory_is_no_file_with_a_bad_ending(host: Path):
    files = FileSystemToolset(named(host, suffixes=[".md"]))
    for refused, message in [
        (lambda: files.read("output/reports"), "Not a file: output/reports"),
        (lambda: files.copy("output/reports", "output/x.md"), "Cannot copy directory: output/reports"),
    ]:
        with pytest.raises(IsADirectoryError, match=f"^{message}$"):
            refused()
    with pytest.raises(SuffixNotAllowedError):
        files.read("output/Makefile")


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("permission_denied", PermissionError, "cannot read `/input/a.md`: no\nhint: wait"),
        ("busy", SandboxError, "cannot read `/input/a.md`: no\nhint: wait"),
        ("escapes", PathNotInSandboxError, "Cannot access 'input//a.md': path is outside sandbox."),
        ("ambiguous", EditError, "Cannot edit 'input//a.md': text found several times (must be unique)."),
    ],
)
def test_refusals_of_the_system(host: Path, kind: str, error: type, message: str):
    failure = Failure("cannot read `/input/a.md`: no\nhint: wait")
    failure.kind, failure.sentence, failure.hint, failure.refusal = kind, "cannot read `/input/a.md`: no", "wait", None
    raised = exception(failure, named(host), "read", "output/b.md", "input//a.md")
    assert type(raised) is error and str(raised).startswith(message)


def test_listing(host: Path):
    files = FileSystemToolset(named(host))
    (host / "out/.hidden").write_text("")
    for arguments, found in [
        ((), ["input/a.md", "output/.hidden", "output/b.md", "output/reports/c.md"]),
        (("/",), ["input/a.md", "output/.hidden", "output/b.md", "output/reports/c.md"]),
        ((".", "*.md"), ["input/a.md", "output/b.md"]),
        (("output",), ["output/.hidden", "output/b.md", "output/reports/c.md"]),
        (("output", "**/*.md"), ["output/b.md", "output/reports/c.md"]),
        (("/output/reports/",), ["output/reports/c.md"]),
        (("output/missing",), []),
        (("output/b.md",), []),
    ]:
        assert files.list_files(*arguments) == found, arguments
    assert FileSystemToolset(rooted(host)).list_files() == ["/.hidden", "/b.md", "/reports/c.md"]
    for pattern, message in [
        ("/etc/*", r"pattern must be relative \(must not start with '/' or '~'\)"),
        ("~/*", r"pattern must be relative \(must not start with '/' or '~'\)"),
        ("../in/*", "pattern must not contain '..' path segments"),
        ("a\0", "pattern must not contain null bytes"),
        ("[", "invalid glob"),
    ]:
        with pytest.raises(ValueError, match=message):
            files.list_files("output", pattern)


def test_one_directory_is_enough(tmp_path: Path):
    files = FileSystemToolset.create_default(tmp_path / "d", id="files")
    assert files.write("data/a.txt", "x") == "Written 1 characters to data/a.txt" and files.id == "files"
    assert files.sandbox.readable_roots == ["data"]
    with pytest.raises(PathNotWritableError):
        FileSystemToolset.create_default(tmp_path / "d", mode="ro").write("data/a.txt", "y")


def test_exchanging_a_directory_with_a_link_leaks_nothing(host: Path):
    files = FileSystemToolset(named(host))
    (host / "outside").mkdir()
    (host / "outside/f.md").write_text("outside")
    (host / "out/dir").mkdir()
    (host / "out/dir/f.md").write_text("inside")
    (host / "out/link").symlink_to(host / "outside")
    over = threading.Event()

    def exchange() -> None:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        one, other = (os.fsencode(host / "out" / name) for name in ("dir", "link"))
        while not over.is_set():
            assert rename(-100, one, -100, other, 2) == 0, os.strerror(ctypes.get_errno())

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    read: set[str] = set()
    try:
        rounds = 1500 if LONG else 150
        end = time.monotonic() + DEADLINE
        nth = 0
        while nth < rounds or (not read and time.monotonic() < end):
            nth += 1
            try:
                read.add(files.read("output/dir/f.md").content)
                files.write("output/dir/f.md", f"inside {nth}")
            except (OSError, SandboxError):
                pass
    finally:
        over.set()
        exchanging.join()
    assert read and all(content.startswith("inside") for content in read)
    assert (host / "outside/f.md").read_text() == "outside" and len(list((host / "outside").iterdir())) == 1
