"""Sandboxes of `workden.filesystem`: configurations, paths, limits, derived sandboxes, and files used directly."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import workden.filesystem
from pydantic import ValidationError
from workden._native import Failure
from workden.filesystem import (
    DEFAULT_MAX_READ_CHARS,
    EditError,
    FileSystemToolset,
    FileTooLargeError,
    Mount,
    PathConfig,
    PathNotInSandboxError,
    PathNotWritableError,
    ReadResult,
    RootSandboxConfig,
    Sandbox,
    SandboxConfig,
    SandboxError,
    SandboxPermissionEscalationError,
    SuffixNotAllowedError,
)
from workden.filesystem._raised import exception


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """`in` and `out`, with a file each, and a file beside them."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out/reports").mkdir(parents=True)
    (tmp_path / "in/a.md").write_text("of the input")
    (tmp_path / "out/b.md").write_text("of the output")
    (tmp_path / "out/reports/c.md").write_text("a report")
    (tmp_path / "secret.md").write_text("secret")
    return tmp_path


def named(host: Path, **limits: Any) -> Sandbox:
    paths = {"input": PathConfig(root="in"), "output": PathConfig(root="out", mode="rw", **limits)}
    return Sandbox(SandboxConfig(paths=paths), base_path=host)


def rooted(host: Path, **limits: Any) -> Sandbox:
    return Sandbox(SandboxConfig(root=RootSandboxConfig(root=host / "out", **limits)))


def mounts(host: Path) -> Sandbox:
    data = Mount(host_path=host / "data", mount_point="/data", mode="rw")
    special = Mount(host_path=host / "special", mount_point="/data/special")
    (host / "data/special").mkdir(parents=True)
    (host / "data/special/shadowed.md").write_text("shadowed")
    (host / "special").mkdir()
    (host / "special/f.md").write_text("special")
    return Sandbox(SandboxConfig(mounts=[data, special]))


# Names


def test_names_are_there_and_others_are_not():
    assert set(workden.filesystem.__all__) <= set(dir(workden.filesystem))
    for name in workden.filesystem.__all__:
        assert getattr(workden.filesystem, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        workden.filesystem.Nothing  # noqa: B018
    assert DEFAULT_MAX_READ_CHARS == 20_000


def test_a_sandbox_does_without_pydantic_ai():
    code = (
        "import sys, workden.filesystem as f, workden.approval as a; assert 'pydantic' not in sys.modules;"
        "f.Sandbox(f.SandboxConfig(paths={})); a.ApprovalController(); assert 'pydantic_ai' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.mark.parametrize("module", ["workden.filesystem.toolset", "workden.approval.toolset"])
def test_without_pydantic_ai_it_is_said_what_to_do(module: str, monkeypatch: pytest.MonkeyPatch):
    found = importlib.util.find_spec(module)
    assert found is not None and found.loader is not None
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with pytest.raises(ImportError, match=r"pip install 'workden\[console\]'"):
        found.loader.exec_module(importlib.util.module_from_spec(found))


# Configurations


def test_configurations_have_the_defaults_of_the_documents():
    path = PathConfig(root="x")
    assert path.model_dump() == {
        "root": "x", "mode": "ro", "suffixes": None, "max_file_bytes": None, "write_approval": True,
        "read_approval": False,
    }  # fmt: skip
    assert PathConfig(root=Path("x")).root == "x"  # type: ignore[arg-type]
    root = RootSandboxConfig(root=".")  # type: ignore[arg-type]
    assert (root.root, root.readonly, root.suffixes, root.max_file_bytes) == (Path("."), False, None, None)
    mount = Mount(host_path="x", mount_point="/a")  # type: ignore[arg-type]
    assert (mount.host_path, mount.mode, mount.write_approval, mount.read_approval) == (Path("x"), "ro", True, False)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({}, "SandboxConfig requires exactly one of 'root' or 'paths'."),
        ({"root": {"root": "."}, "paths": {}}, "SandboxConfig cannot set both 'root' and 'paths'."),
        ({"mounts": []}, "SandboxConfig requires at least one mount"),
        ({"mounts": [], "paths": {}}, "SandboxConfig cannot set 'mounts' beside 'root' or 'paths'."),
        ({"mounts": [{"host_path": ".", "mount_point": "docs"}]}, "mount_point must start with '/': 'docs'"),
        ({"mounts": [{"host_path": ".", "mount_point": "/a\0"}]}, "mount_point must not contain null bytes"),
        ({"paths": {"a": {"root": ".", "max_file_bytes": -1}}}, "greater than or equal to 0"),
        ({"paths": {"a": {"root": 1}}}, "valid string"),
    ],
)
def test_configurations_that_make_no_sense(wanted: dict[str, Any], message: str):
    with pytest.raises(ValidationError) as raised:
        SandboxConfig.model_validate(wanted)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("written", "place"), [("/a/../b", "/b"), ("\\a\\b", "/a/b"), ("", "/"), (" /x/ ", "/x"), ("//x", "/x")]
)
def test_mount_points_have_a_normal_form(written: str, place: str):
    assert Mount(host_path=Path("."), mount_point=written).mount_point == place


def test_sandboxes_that_cannot_be(host: Path):
    same = [Mount(host_path=host / name, mount_point="/a") for name in ("in", "out")]
    with pytest.raises(ValueError, match="^Duplicate mount point: '/a'$"):
        Sandbox(SandboxConfig(mounts=same))
    for name in ("", ".", "a/..", "a\0"):
        with pytest.raises(ValueError, match="is not a name for a path"):
            Sandbox(SandboxConfig(paths={name: PathConfig(root=str(host))}))
    with pytest.raises(ValueError, match="is not the ending of a name"):
        named(host, suffixes=["*.md"])


def test_directories_are_made_below_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    sandbox = Sandbox(SandboxConfig(paths={"data": PathConfig(root="./data/deep")}))
    assert sandbox.resolve("data") == tmp_path / "data/deep" and (tmp_path / "data/deep").is_dir()
    assert Sandbox(SandboxConfig(root=RootSandboxConfig(root=Path("r"))), str(tmp_path)).resolve("/") == tmp_path / "r"


def test_no_paths_are_no_access():
    sandbox = Sandbox(SandboxConfig(paths={}))
    assert (sandbox.readable_roots, sandbox.writable_roots) == ([], [])
    assert FileSystemToolset(sandbox).list_files() == []
    with pytest.raises(PathNotInSandboxError, match="Readable paths: none"):
        sandbox.resolve("x")


# Errors


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PathNotInSandboxError("secret/file.txt", ["input", "output"]),
            "Cannot access 'secret/file.txt': path is outside sandbox.\nReadable paths: input, output",
        ),
        (
            PathNotWritableError("input/file.txt", ["output"]),
            "Cannot write to 'input/file.txt': path is read-only.\nWritable paths: output",
        ),
        (PathNotWritableError("a", []), "Cannot write to 'a': path is read-only.\nWritable paths: none"),
        (
            SuffixNotAllowedError("output/data.json", ".json", [".md", ".txt"]),
            "Cannot access 'output/data.json': suffix '.json' not allowed.\nAllowed suffixes: .md, .txt",
        ),
        (
            FileTooLargeError("output/huge.txt", 5_000_000, 1_000_000),
            "Cannot read 'output/huge.txt': file too large (5,000,000 bytes).\nMaximum allowed: 1,000,000 bytes",
        ),
        (
            EditError("output/file.txt", "text not found in file", "old\n" + "x" * 100),
            "Cannot edit 'output/file.txt': text not found in file.\nSearched for: 'old\\\\n" + "x" * 96 + "...'",
        ),
        (SandboxPermissionEscalationError("no"), "no"),
    ],
)
def test_errors_say_what_is_allowed(error: SandboxError, message: str):
    assert isinstance(error, SandboxError)
    assert (str(error), error.message) == (message, message)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and vars(copied) == vars(error)


# Paths


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("input", "in"),
        ("input/", "in"),
        ("input/a.md", "in/a.md"),
        ("/input/a.md", "in/a.md"),
        ("./input/a.md", "in/a.md"),
        ("input//./x/../a.md", "in/a.md"),
        ("input/new/..a..md", "in/new/..a..md"),
        ("input/...", "in/..."),
    ],
)
def test_paths_of_names(host: Path, path: str, file: str):
    sandbox = named(host)
    assert sandbox.resolve(path) == host / file
    assert sandbox.get_path_config(path) == ("input", host / file, PathConfig(root="in"))
    assert sandbox.can_read(path) and not sandbox.can_write(path)


@pytest.mark.parametrize(
    "path", ["", ".", "/", "other/a", "Input/a.md", "../secret.md", "input/../../secret.md", "input\\a.md", " input/a", "a\0"]
)
def test_paths_of_nobody(host: Path, path: str):
    sandbox = named(host)
    with pytest.raises(PathNotInSandboxError) as raised:
        sandbox.resolve(path)
    assert (raised.value.path, raised.value.readable_roots) == (path, ["input", "output"])
    assert not sandbox.can_read(path) and not sandbox.can_write(path)
    assert not sandbox.needs_read_approval(path) and not sandbox.needs_write_approval(path)


def test_paths_of_one_root(host: Path):
    sandbox = rooted(host)
    for path in ("/b.md", "b.md", "./b.md", "/reports/../b.md"):
        assert sandbox.resolve(path) == host / "out/b.md"
    assert sandbox.resolve("") == sandbox.resolve("/") == host / "out"
    assert (sandbox.readable_roots, sandbox.writable_roots) == (["/"], ["/"])
    assert rooted(host, readonly=True).writable_roots == []
    assert sandbox.get_path_config("/b.md")[0] == "/"
    assert sandbox.needs_write_approval("/b.md") and not sandbox.needs_read_approval("/b.md")
    with pytest.raises(PathNotInSandboxError, match="Readable paths: /$"):
        sandbox.resolve("/../secret.md")


def test_links_lead_nowhere_else(host: Path):
    sandbox, files = named(host), FileSystemToolset(named(host))
    links = {
        "up.md": "../secret.md",
        "up-absolute.md": str(host / "secret.md"),
        "new.md": str(host / "new.md"),
        "loop.md": "loop.md",
    }
    for name, target in links.items():
        (host / "out" / name).symlink_to(target)
    (host / "out/dir").symlink_to(host)
    for path in [*(f"output/{name}" for name in links), "output/dir/secret.md"]:
        for refused in (
            sandbox.resolve,
            files.read,
            lambda path: files.write(path, "x"),
            lambda path: files.copy("output/b.md", path),
            lambda path: files.edit(path, "secret", "x"),
        ):
            with pytest.raises(PathNotInSandboxError, match="path is outside sandbox"):
                refused(path)
        assert not sandbox.can_read(path)
    assert (host / "secret.md").read_text() == "secret" and not (host / "new.md").exists()
    for name, target in {"in.md": "b.md", "in-absolute.md": str(host / "out/b.md")}.items():
        (host / "out" / name).symlink_to(target)
        assert sandbox.resolve(f"output/{name}") == host / "out/b.md"
        assert files.read(f"output/{name}").content == "of the output"
    (host / "out/nowhere.md").symlink_to("missing.md")
    assert sandbox.resolve("output/nowhere.md") == host / "out/missing.md"
    files.delete("output/nowhere.md")
    assert not (host / "out/nowhere.md").is_symlink()


def test_mounts_are_found_by_the_longest_place(host: Path):
    sandbox = mounts(host)
    assert (sandbox.readable_roots, sandbox.writable_roots) == (["/data", "/data/special"], ["/data"])
    for path in ("/data/special/f.md", "data/./special/f.md", "/data/x/../special/f.md", "//data//special//f.md"):
        assert sandbox.resolve(path) == host / "special/f.md"
        assert not sandbox.can_write(path)
        with pytest.raises(PathNotWritableError):
            FileSystemToolset(sandbox).write(path, "x")
    name, _, config = sandbox.get_path_config("/data/x.md", op="write")
    assert name == "/data" and isinstance(config, Mount)
    assert sandbox.get_mount_root("/data/special") == host / "special"
    with pytest.raises(PathNotInSandboxError):
        sandbox.get_mount_root("/other")
    assert FileSystemToolset(sandbox).list_files("/") == ["/data/special/f.md"]
    # What a mount covers is not there, by no way: a link leads to what is seen in its place.
    (host / "data/way.md").symlink_to("special/f.md")
    assert sandbox.resolve("/data/way.md") == host / "special/f.md"
    assert FileSystemToolset(sandbox).read("/data/way.md").content == "special"
    assert sandbox.can_read("/data/way.md") and not sandbox.can_write("/data/way.md")
    (host / "data/covered.md").symlink_to("special/shadowed.md")
    assert not sandbox.resolve("/data/covered.md").exists()
    with pytest.raises(FileNotFoundError):
        FileSystemToolset(sandbox).read("/data/covered.md")


def test_a_link_into_a_mount_needs_what_is_needed_there(host: Path):
    outer = Mount(host_path=host / "out", mount_point="/", mode="rw", write_approval=False)
    inner = Mount(host_path=host / "in", mount_point="/in", mode="rw", read_approval=True)
    (host / "out/way.md").symlink_to("in/a.md")
    sandbox = Sandbox(SandboxConfig(mounts=[outer, inner]))
    assert sandbox.needs_read_approval("/way.md") and sandbox.needs_write_approval("/way.md")
    assert not sandbox.needs_read_approval("/b.md") and not sandbox.needs_write_approval("/b.md")


def test_a_path_is_for_reading_or_for_writing(host: Path):
    sandbox = named(host)
    assert sandbox.get_path_config("input/a.md", op="read")[0] == "input"
    with pytest.raises(PathNotWritableError, match="Cannot write to 'input/a.md': path is read-only.\nWritable paths: output"):
        sandbox.get_path_config("input/a.md", op="write")
    with pytest.raises(PathNotInSandboxError):
        sandbox.derive(allow_write="output", allow_read="input").get_path_config("output/b.md", op="read")


def test_approvals_are_as_configured(host: Path):
    sandbox = named(host, write_approval=False, read_approval=True)
    assert not sandbox.needs_write_approval("output/b.md") and sandbox.needs_read_approval("output/b.md")
    assert not sandbox.needs_write_approval("input/a.md") and not sandbox.needs_read_approval("input/a.md")
    assert named(host).needs_write_approval("output/b.md")


# Limits


@pytest.mark.parametrize(
    ("suffixes", "name", "allowed"),
    [
        (None, "a", True),
        ([".md"], "a.MD", True),
        (["md"], "a.md", True),
        ([".TXT"], "a.txt", True),
        ([".tar.gz"], "a.tar.gz", True),
        ([".tar.gz"], "a.gz", False),
        ([""], "Makefile", True),
        ([""], "a.md", False),
        ([".md"], ".md", False),
        ([".md"], "amd", False),
        ([], "a.md", False),
    ],
)
def test_endings(host: Path, suffixes: list[str] | None, name: str, allowed: bool):
    sandbox = named(host, suffixes=suffixes)
    files = FileSystemToolset(sandbox)
    config = sandbox.get_path_config("output")[2]
    if allowed:
        sandbox.check_suffix(host / "out" / name, config)
        files.write(f"output/{name}", "x")
        return
    with pytest.raises(SuffixNotAllowedError) as checked:
        sandbox.check_suffix(host / "out" / name, config)
    with pytest.raises(SuffixNotAllowedError) as written:
        files.write(f"output/{name}", "x")
    assert vars(checked.value) == vars(written.value)
    assert str(written.value).endswith(f"Allowed suffixes: {', '.join(suffixes or []) or 'none'}")


def test_checks_show_no_path_of_the_host(host: Path):
    sandbox = named(host, suffixes=[".md"], max_file_bytes=3)
    config = sandbox.get_path_config("output")[2]
    for path, options, shown in [
        (host / "out/data.json", {}, "output/data.json"),
        (host / "data.json", {}, "data.json"),
        (host / "data.json", {"virtual_path": "x/data.json"}, "x/data.json"),
    ]:
        with pytest.raises(SuffixNotAllowedError) as raised:
            sandbox.check_suffix(path, config, **options)
        assert raised.value.path == shown
    with pytest.raises(FileTooLargeError) as large:
        sandbox.check_size(host / "out/b.md", config)
    assert (large.value.path, large.value.size, large.value.limit) == ("output/b.md", 13, 3)
    sandbox.check_size(host / "out/missing.md", config)
    sandbox.check_size(host / "out/b.md", PathConfig(root="."))


# Derived sandboxes


def test_a_derived_sandbox_has_what_it_is_given(host: Path):
    parent = named(host)
    for given, readable, writable in [
        ({}, [], []),
        ({"allow_read": "output/reports"}, ["output/reports"], []),
        ({"allow_write": "output/reports"}, ["output/reports"], ["output/reports"]),
        ({"allow_read": ["input", "/output/"], "allow_write": ["output/reports"]}, ["input", "output"], ["output/reports"]),
        ({"allow_read": "input", "allow_write": "output"}, ["input"], ["output"]),
        ({"allow_write": "output", "readonly": True}, ["output"], []),
        ({"inherit": True}, ["input", "output"], ["output"]),
        ({"inherit": True, "readonly": True}, ["input", "output"], []),
        ({"inherit": True, "allow_read": "input"}, ["input"], []),
        ({"allow_read": Path("output/not/there/yet")}, ["output/not/there/yet"], []),
        ({"allow_read": ["input", "input/"]}, ["input"], []),
    ]:
        child = parent.derive(**given)
        assert (child.readable_roots, child.writable_roots) == (readable, writable), given
        assert child.config is parent.config


def test_a_reading_child_changes_nothing(host: Path):
    files = FileSystemToolset(named(host).derive(allow_read="output"))
    for refused in (
        lambda: files.write("output/b.md", "x"),
        lambda: files.edit("output/b.md", "of", "x"),
        lambda: files.delete("output/b.md"),
        lambda: files.move("output/b.md", "output/d.md"),
        lambda: files.copy("output/b.md", "output/d.md"),
    ):
        with pytest.raises(PathNotWritableError, match="Writable paths: none"):
            refused()
    assert sorted(path.name for path in (host / "out").iterdir()) == ["b.md", "reports"]


def test_a_child_does_not_see_what_is_beside(host: Path):
    child = named(host).derive(allow_read="output/reports")
    files = FileSystemToolset(child)
    assert files.list_files("output") == files.list_files() == ["output/reports/c.md"]
    assert not child.can_read("output") and not child.can_read("output/b.md") and child.can_read("output/reports/c.md")
    for path in ("output", "output/b.md", "input/a.md"):
        with pytest.raises(PathNotInSandboxError, match="Readable paths: output/reports$"):
            child.resolve(path)


def test_reading_from_a_child_that_inherits_and_may_not_write(host: Path):
    child = named(host).derive(inherit=True, readonly=True)
    assert child.resolve("output/b.md") == host / "out/b.md"
    assert FileSystemToolset(child).read("output/b.md").content == "of the output"
    assert child.can_read("output/b.md") and not child.can_write("output/b.md")


def test_children_of_children_only_get_less(host: Path):
    child = named(host).derive(allow_write="output")
    grandchild = child.derive(allow_read="output/reports")
    assert FileSystemToolset(grandchild).read("output/reports/c.md").content == "a report"
    assert FileSystemToolset(child.derive(allow_write="output/reports")).write("output/reports/d.md", "x")
    for wrong in ({"allow_read": "input"}, {"allow_read": ["output/reports", "output"]}):
        with pytest.raises(PathNotInSandboxError):
            grandchild.derive(**wrong)
    with pytest.raises(PathNotWritableError, match="Cannot write to 'output/reports'"):
        grandchild.derive(allow_write="output/reports")
    with pytest.raises(SandboxPermissionEscalationError):
        grandchild.derive(readonly=False)


def test_a_child_cannot_have_more(host: Path):
    parent = named(host)
    with pytest.raises(PathNotWritableError, match="^Cannot write to 'input': path is read-only.\nWritable paths: output$"):
        parent.derive(allow_write="input")
    for path in ("other", "../x"):
        with pytest.raises(PathNotInSandboxError, match=f"Cannot access '{path}'"):
            parent.derive(allow_read=["input", path])
    with pytest.raises(
        SandboxPermissionEscalationError,
        match="^Cannot create child sandbox with readonly=False: parent sandbox is readonly.$",
    ):
        rooted(host, readonly=True).derive(readonly=False)
    assert rooted(host).derive(readonly=False, allow_write="/reports").writable_roots == ["/reports"]


def test_a_place_includes_the_mounts_in_it_and_may_be_a_file(host: Path):
    child = mounts(host).derive(allow_write="/data")
    assert child.can_read("/data/special/f.md") and not child.can_write("/data/special/f.md")
    only = named(host).derive(allow_read="output/b.md")
    assert only.can_read("output/b.md") and not only.can_read("output/reports/c.md")


def test_what_cannot_be_said_is_a_mistake(tmp_path: Path):
    with pytest.raises(ValueError, match="a derived place"):
        Sandbox(SandboxConfig(paths={"d": PathConfig(root=tmp_path)})).derive(readonly="yes")  # type: ignore[arg-type]


def test_limits_and_approvals_are_inherited(host: Path):
    child = named(host, suffixes=[".md"], read_approval=True).derive(allow_write="output/reports")
    assert child.needs_read_approval("output/reports/c.md") and child.needs_write_approval("output/reports/c.md")
    with pytest.raises(SuffixNotAllowedError):
        FileSystemToolset(child).write("output/reports/x.json", "x")


# Files, used directly


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
def test_what_cannot_be_done(host: Path, method: str, arguments: tuple[str, ...], error: type, message: str, suffixes: Any):
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
def test_what_is_refused_is_about_the_path_as_typed(host: Path, method: str, arguments: tuple[str, ...], error: type, path: str):
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
def test_what_the_system_refuses(host: Path, kind: str, error: type, message: str):
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
        for nth in range(1500):
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
