"""`workden.filesystem`: its names, the configurations of a sandbox, and its errors."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sandboxes import named

import workden.filesystem
from workden.filesystem import (
    DEFAULT_MAX_READ_CHARS,
    EditError,
    FileSystemToolset,
    FileTooLargeError,
    Mount,
    PathConfig,
    PathNotInSandboxError,
    PathNotWritableError,
    RootSandboxConfig,
    Sandbox,
    SandboxConfig,
    SandboxError,
    SandboxPermissionEscalationError,
    SuffixNotAllowedError,
)


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
        with pytest.raises(ValueError, match="invalid path name"):
            Sandbox(SandboxConfig(paths={name: PathConfig(root=str(host))}))
    with pytest.raises(ValueError, match="invalid suffix"):
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
