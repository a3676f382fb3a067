"""The console: answers of its tools as text, images and documents."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from media import PDF, PNG
from pydantic_ai import BinaryContent
from scripted import Deps, PlainSandbox, answer, awaited, run

from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.permissions import READONLY_RULESET
from workden.toolsets.console import create_console_toolset


async def test_files_are_listed(local: LocalBackend, tmp_path: Path) -> None:
    assert await answer(local, "ls", {}) == "Directory '.' is empty or does not exist"
    missing = await answer(local, "ls", {"path": "nope"})
    assert missing.startswith("Directory 'nope' is empty or does not exist\nhint: ")
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("four")
    assert await answer(local, "ls", {"path": "."}) == "Contents of .:\n  sub/\n  a.txt (4 bytes)"


async def test_files_are_read(local: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\ny\nz\n")
    assert await answer(local, "read_file", {"path": "a.txt"}) == "     1\tx\n     2\ty\n     3\tz"
    assert await answer(local, "read_file", {"path": "a.txt", "limit": 1}) == "     1\tx\n\n... (2 more lines)"
    hashed = await answer(local, "read_file", {"path": "a.txt", "offset": 2}, edit_format="hashline")
    assert hashed == "3:fb|z"
    beyond = await answer(local, "read_file", {"path": "a.txt", "offset": 9})
    assert beyond.startswith("Error: Offset 9 exceeds file length (3 lines)")
    for options in ({}, {"edit_format": "hashline"}):
        missing = await answer(local, "read_file", {"path": "nope.txt"}, **options)
        assert missing.startswith("Error: File 'nope.txt' not found\nhint: ")
    (tmp_path / "sub").mkdir()
    assert (await answer(local, "read_file", {"path": "sub"})).startswith("Error: 'sub' is a directory")


async def test_files_are_written_and_edited(local: LocalBackend, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    assert await answer(local, "write_file", {"path": "a.txt", "content": "x\ny\nx\n"}) == f"Wrote 3 lines to {file}"
    edit = {"path": "a.txt", "old_string": "y", "new_string": "z"}
    assert await answer(local, "edit_file", edit) == "Edited a.txt: replaced 1 occurrence(s)"
    both = {"path": "a.txt", "old_string": "x", "new_string": "w"}
    twice = await answer(local, "edit_file", both)
    wanted = "Error: String 'x' found 2 times. Use replace_all=True to replace all, or provide more context."
    assert twice.splitlines()[0] == wanted
    assert await answer(local, "edit_file", {**both, "replace_all": True}) == "Edited a.txt: replaced 2 occurrence(s)"
    assert file.read_text() == "w\nz\nw\n"
    never = await answer(local, "edit_file", {**both, "old_string": "nonsense"})
    assert never.splitlines()[0] == "Error: String 'nonsense' not found in file"
    missing = await answer(local, "edit_file", {**edit, "path": "nope.txt"})
    assert missing.startswith("Error: File 'nope.txt' not found\n")


async def test_lines_are_edited_by_their_hashes(local: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n")
    edit = {"path": "a.txt", "start_line": 1, "start_hash": "0c", "new_content": "c"}
    for change, expected in [
        ({"insert_after": True}, "Edited a.txt: Inserted 1 line(s) after line 1"),
        ({"new_content": "d\ne"}, "Edited a.txt: Replaced 1 line(s) with 2 line(s) at line 1"),
        ({"start_line": 9}, "Error: Line 9 out of range (file has 4 lines)"),
        ({}, "Error: Hash mismatch at line 1: expected '0c', got '82'. File may have changed — re-read it first."),
        ({"path": "nope.txt"}, "Error: File 'nope.txt' not found"),
    ]:
        said = await answer(local, "hashline_edit", {**edit, **change}, edit_format="hashline")
        assert said.splitlines()[0] == expected
    assert (tmp_path / "a.txt").read_text() == "d\ne\nc\nb\n"


async def test_files_are_found(local: LocalBackend, tmp_path: Path) -> None:
    assert await answer(local, "glob", {"pattern": "*.py"}) == "No files matching '*.py' in ."
    for number in range(102):
        (tmp_path / f"{number}.py").write_text("needle\n")
    found = (await answer(local, "glob", {"pattern": "*.py"})).splitlines()
    assert found[0] == "Found 102 file(s) matching '*.py':" and len(found) == 102
    assert found[-1].startswith("  ... and 2 more")
    assert await answer(local, "grep", {"pattern": "nothing"}) == "No matches for 'nothing'"
    assert await answer(local, "grep", {"pattern": "needle", "output_mode": "count"}) == "Found 102 match(es) for 'needle'"
    files = (await answer(local, "grep", {"pattern": "needle"})).splitlines()
    assert files[0] == "Files containing 'needle':" and files[-1].startswith("  ... and 52 more files")
    lines = (await answer(local, "grep", {"pattern": "needle", "output_mode": "content"})).splitlines()
    assert lines[0] == "Matches for 'needle':" and lines[1].endswith(".py:1: needle")
    assert lines[-1].startswith("  ... and 52 more matches")
    assert (await answer(local, "grep", {"pattern": "("})).startswith("Error: Invalid regex pattern: unclosed group")
    missing = await answer(local, "grep", {"pattern": "x", "path": "nope"})
    assert missing.startswith("Error: Path 'nope' not found")
    (tmp_path / ".hidden").write_text("secret\n")
    assert await answer(local, "grep", {"pattern": "secret"}) == "No matches for 'secret'"
    shown = await answer(local, "grep", {"pattern": "secret"}, default_ignore_hidden=False)
    assert shown.startswith("Files containing 'secret':")


async def test_commands_run(local: LocalBackend) -> None:
    assert await answer(local, "execute", {"command": "echo out; echo err >&2"}) == "out\nerr\n"
    failed = await answer(local, "execute", {"command": "echo no; exit 3"})
    assert failed == "Command failed (exit code 3):\nno\n"
    late = await answer(local, "execute", {"command": "echo first; sleep 9", "timeout": 1})
    assert late == "Command timed out after 1 seconds (exit code 124):\nfirst\n"


async def test_commands_run_in_the_background(local: LocalBackend) -> None:
    toolset = create_console_toolset()
    none, started, listed, read, killed, again, unknown = await run(
        toolset,
        local,
        ("list_shells", {}),
        ("run_in_background", {"command": "echo hello; sleep 60"}),
        ("list_shells", {}),
        ("read_output", {"shell_id": "bg_1", "wait": 20}),
        ("kill_shell", {"shell_id": "bg_1"}),
        ("read_output", {"shell_id": "bg_1"}),
        ("kill_shell", {"shell_id": "bg_9"}),
    )
    assert none == "No background shells."
    assert started.startswith("Started background shell bg_1 (pid ")
    assert started.endswith("Use read_output('bg_1') to follow its output and kill_shell('bg_1') to stop it.")
    assert listed == "bg_1  running  echo hello; sleep 60"
    assert read == "[bg_1] running\nhello\n"
    assert killed == "Killed background shell bg_1."
    assert again.startswith("[bg_1] exited (code ") and again.endswith("(no new output)")
    assert unknown == "Background shell bg_9 was already finished or unknown."


async def test_a_tool_that_is_not_offered_says_why_when_it_is_called_by_hand(local: LocalBackend, tmp_path: Path) -> None:
    tools = create_console_toolset(require_execute_approval=False).tools

    async def called(backend: Any, tool: str, *positional: Any, **arguments: Any) -> str:
        return await tools[tool].function(SimpleNamespace(deps=Deps(backend)), *positional, **arguments)

    assert await called(StateBackend(), "execute", "ls") == "Error: Backend does not support command execution"
    disabled = LocalBackend(root_dir=tmp_path, enable_execute=False)
    assert await called(disabled, "execute", command="ls") == "Error: Shell execution is disabled for this backend"
    assert await called(StateBackend(), "list_shells") == "Error: Backend does not support background processes"
    denied = LocalBackend(root_dir=tmp_path, permissions=READONLY_RULESET)
    assert await called(denied, "execute", command="ls") == "Error: execute is not allowed here"
    assert await called(denied, "write_file", path="a", content="b") == "Error: write_file is not allowed here"
    assert (await called(local, "read_file", tmp_path / "nope.txt")).startswith(f"Error: File '{tmp_path}/nope.txt' not found")
    assert await called(local, "execute", "echo hi") == "hi\n"


@pytest.mark.parametrize("later", [False, True])
async def test_a_custom_backend_works(later: bool) -> None:
    plain = PlainSandbox(a_dot_txt="one\ntwo\n")
    backend = awaited(plain) if later else plain
    got = await run(
        create_console_toolset(),
        backend,
        ("ls", {}),
        ("read_file", {"path": "a.txt"}),
        ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "three"}),
        ("write_file", {"path": "b.txt", "content": "new"}),
        ("grep", {"pattern": "three"}),
        ("glob", {"pattern": "*.txt"}),
        ("execute", {"command": "make"}),
        ("execute", {"command": "false"}),
        ("run_in_background", {"command": "sleep 9"}),
        ("kill_shell", {"shell_id": "bg_1"}),
    )
    assert got[:4] == [
        "Contents of .:\n  a.txt (8 bytes)",
        "     1\tone\n     2\ttwo",
        "Edited a.txt: replaced 1 occurrence(s)",
        "Wrote 1 lines to /b.txt",
    ]
    assert got[4] == "Files containing 'three':\n  /a.txt"
    assert got[5] == "Found 2 file(s) matching '*.txt':\n  /a.txt\n  /b.txt"
    assert got[6:8] == ["would run make", "Command failed (exit code 1):\nwould run false"]
    assert got[8].startswith("Started background shell bg_1 (pid 7)") and got[9] == "Killed background shell bg_1."
    assert plain.files == {"/a.txt": "one\nthree\n", "/b.txt": "new"}


async def test_overridden_methods_are_called(tmp_path: Path) -> None:
    class Shouting(LocalBackend):
        def read_bytes(self, path: str) -> bytes:
            return super().read_bytes(path).upper()

    (tmp_path / "a.txt").write_text("quiet")
    for path in ("a.txt", str(tmp_path / "a.txt")):
        assert await answer(Shouting(root_dir=tmp_path), "read_file", {"path": path}) == "     1\tQUIET"
    put_on = LocalBackend(root_dir=tmp_path)
    put_on.read_bytes = lambda path: b"mine"  # type: ignore[method-assign]
    assert await answer(put_on, "read_file", {"path": "a.txt"}) == "     1\tmine"


# Images and documents


async def test_images_and_documents_are_shown_to_models_that_take_them(local: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "a.pdf").write_bytes(PDF)
    (tmp_path / "empty.png").write_bytes(b"")
    takes = {"image_support": True, "document_support": True}
    image = await answer(local, "read_file", {"path": "a.png"}, **takes)
    assert isinstance(image, BinaryContent) and (image.media_type, image.data) == ("image/png", PNG)
    document = await answer(local, "read_file", {"path": "a.pdf"}, **takes)
    assert isinstance(document, BinaryContent) and (document.media_type, document.data) == ("application/pdf", PDF)
    missing = await answer(local, "read_file", {"path": "no.PNG"}, **takes)
    assert missing.startswith("Error: Image file 'no.PNG' not found or empty")
    empty = await answer(local, "read_file", {"path": "empty.png"}, **takes)
    assert empty == "Error: Image file 'empty.png' not found or empty"
    missing = await answer(local, "read_file", {"path": "no.pdf"}, **takes)
    assert missing.startswith("Error: Document file 'no.pdf' not found or empty")
    (tmp_path / "large.png").write_bytes(PNG + bytes(2 * 1024 * 1024))
    large = await answer(local, "read_file", {"path": "large.png"}, image_support=True, max_image_bytes=1024 * 1024)
    assert large == "Error: Image 'large.png' too large (2.0MB, max 1.0MB)"


async def test_other_models_get_words(local: LocalBackend, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    assert "is an image (image/png)" in await answer(local, "read_file", {"path": "a.png"})
    missing = await answer(local, "read_file", {"path": "no.png"})
    assert missing.startswith("Error: File 'no.png' not found")
    (tmp_path / "empty.png").write_bytes(b"")
    assert await answer(local, "read_file", {"path": "empty.png"}) == "(the file is empty)"
