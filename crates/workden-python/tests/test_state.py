"""`StateBackend`: files in a dictionary that the caller owns."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime

import pytest

from workden import StateBackend


def test_the_dictionary_is_the_callers_and_live() -> None:
    files: dict = {}
    backend = StateBackend(files)
    assert backend.files is files
    assert backend.write("a/b.txt", "x\ny\n").path == "/a/b.txt"
    assert files["/a/b.txt"]["content"] == ["x", "y", ""]
    files["/mine"] = {"content": ["1"], "created_at": "", "modified_at": ""}
    files["slashless.txt"] = {"content": ["2"], "created_at": "", "modified_at": ""}
    assert backend.read("/mine") == "     1\t1" and backend.read("slashless.txt") == "     1\t2"
    files["/a/b.txt"]["content"][0] = "changed"
    assert backend.read("/a/b.txt") == "     1\tchanged\n     2\ty"
    del files["/mine"]
    assert not backend.exists("/mine") and StateBackend().files == {}


def test_times_are_kept() -> None:
    backend = StateBackend()
    backend.write("/x", "1")
    created = backend.files["/x"]["created_at"]
    assert datetime.fromisoformat(created).utcoffset() is not None
    backend.edit("/x", "1", "2")
    assert backend.files["/x"]["created_at"] == created < backend.files["/x"]["modified_at"]


def test_listing_and_searching() -> None:
    backend = StateBackend()
    for path in ("/b.txt", "/d/a.py", "/d/e/f.py", "/.hidden"):
        backend.write(path, f"needle in {path}")
    assert [(i["name"], i["is_dir"], i["size"]) for i in backend.ls_info("/")] == [
        ("d", True, None),
        (".hidden", False, 18),
        ("b.txt", False, 16),
    ]
    assert [i["path"] for i in backend.ls_info("d")] == ["/d/e", "/d/a.py"]
    assert [i["path"] for i in backend.ls_info("/b.txt")] == ["/b.txt"] and backend.ls_info("/nope") == []
    assert [i["path"] for i in backend.glob_info("**/*.py")] == ["/d/a.py", "/d/e/f.py"]
    assert [i["path"] for i in backend.glob_info("*.py", "/d")] == ["/d/a.py"]
    assert [m["path"] for m in backend.grep_raw("needle")] == ["/b.txt", "/d/a.py", "/d/e/f.py"]  # type: ignore[index]
    assert len(backend.grep_raw("needle", ignore_hidden=False)) == 4 == len(backend.grep_raw("needle")) + 1
    assert backend.grep_raw("needle", "/d/e/f.py", glob="*.py") == [
        {"path": "/d/e/f.py", "line_number": 1, "line": "needle in /d/e/f.py"}
    ]
    assert str(backend.grep_raw("[")).startswith("Error: Invalid regex pattern")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/nope", "Error: File '/nope' not found"),
        ("/d", "Error: '/d' is a directory"),
        ("/../x", "Error: `/../x` climbs above the root of the workspace"),
    ],
)
def test_messages_for_unreadable_paths(path: str, said: str) -> None:
    backend = StateBackend()
    backend.write("/d/x", "x")
    assert backend.read(path).startswith(said) and backend.read_bytes(path) == b"" and not backend.exists(path)


def test_a_file_is_no_directory() -> None:
    backend = StateBackend()
    backend.write("/f", "x")
    assert backend.write("/f/x", "y").error and backend.write("/f/x/y", "z").error
    assert backend.write("/", "x").error and list(backend.files) == ["/f"]


def test_bytes_that_are_no_text_are_kept_and_the_whole_is_json() -> None:
    backend = StateBackend()
    backend.write("/bin", b"\xff\x00")
    backend.write("/text", "x")
    assert backend.read_bytes("/bin") == b"\xff\x00"
    again = StateBackend.from_json(backend.to_json())
    assert again.read_bytes("/bin") == b"\xff\x00" and json.loads(backend.to_json()) == again.files
    for other in (pickle.loads(pickle.dumps(backend)), copy.deepcopy(backend)):
        assert other.read("/text") == "     1\tx" and other.files is not backend.files


@pytest.mark.parametrize("broken", [1, {}, {"content": 1}, {"content": [1]}, {"content": ["!"], "encoding": "base64"}])
def test_an_invalid_entry_of_the_dictionary_is_reported(broken: object) -> None:
    backend = StateBackend({"/x": broken})  # type: ignore[dict-item]
    assert backend.read("/x").startswith("Error: a file of the dictionary: ")


def test_content_may_be_one_text() -> None:
    assert StateBackend({"/x": {"content": "a\nb"}}).read("/x") == "     1\ta\n     2\tb"  # type: ignore[typeddict-item]


def test_native_workspaces_move_copy_and_remove() -> None:
    backend = StateBackend()
    backend.write("/d/a", "1")
    backend.write("/d/e/b", "2")
    native = backend._native
    native.rename("/d", "/m", False)
    assert sorted(backend.files) == ["/m/a", "/m/e/b"]
    native.copy("/m/a", "/c", False)
    native.remove("/m", True)
    native.make_dir("/c2")
    assert sorted(backend.files) == ["/c"] and backend.read("/c") == "     1\t1"
    native.remove("/c", False)
    assert backend.files == {}
