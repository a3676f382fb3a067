"""Sandboxes of `workden.filesystem`: targets of paths, and limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandboxes import mounts, named, rooted

from workden.filesystem import (
    FileSystemToolset,
    FileTooLargeError,
    Mount,
    PathConfig,
    PathNotInSandboxError,
    PathNotWritableError,
    Sandbox,
    SandboxConfig,
    SuffixNotAllowedError,
)


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
def test_paths_outside_the_sandbox(host: Path, path: str):
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
    # A mount hides the files below it on every way: a link leads to the mounted files.
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
