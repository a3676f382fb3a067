"""Derived sandboxes: their rights, which never exceed those of the parent."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandboxes import mounts, named, rooted

from workden.filesystem import (
    FileSystemToolset,
    PathConfig,
    PathNotInSandboxError,
    PathNotWritableError,
    Sandbox,
    SandboxConfig,
    SandboxPermissionEscalationError,
    SuffixNotAllowedError,
)


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


def test_invalid_derivations_are_rejected(tmp_path: Path):
    with pytest.raises(ValueError, match="a derived place"):
        Sandbox(SandboxConfig(paths={"d": PathConfig(root=tmp_path)})).derive(readonly="yes")  # type: ignore[arg-type]


def test_limits_and_approvals_are_inherited(host: Path):
    child = named(host, suffixes=[".md"], read_approval=True).derive(allow_write="output/reports")
    assert child.needs_read_approval("output/reports/c.md") and child.needs_write_approval("output/reports/c.md")
    with pytest.raises(SuffixNotAllowedError):
        FileSystemToolset(child).write("output/reports/x.json", "x")
