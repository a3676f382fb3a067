"""The console as a toolset: what it offers, what it answers, and that no run ends of it."""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import BinaryContent, FunctionToolset, UserError
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from scripted import Deps, PlainBackend, PlainSandbox, Script, answers, awaited, run

from workden import toolsets
from workden.adapter import ensure_async
from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.permissions import DEFAULT_RULESET, READONLY_RULESET, OperationPermissions, PermissionRule, PermissionRuleset
from workden.toolsets import _met, console
from workden.toolsets.console import ConsoleDeps, create_console_toolset, get_console_system_prompt

FILES = ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]
COMMANDS = ["execute", "run_in_background", "read_output", "kill_shell", "list_shells"]
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c633cc125c7c0c0c0c4c0c0c0c0"
    "c000000c1400f4e9673f130000000049454e44ae426082"
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"


@pytest.fixture
def local(tmp_path: Path) -> LocalBackend:
    return LocalBackend(root_dir=tmp_path)


async def answer(backend: Any, tool: str, arguments: dict[str, Any] | str, **options: Any) -> Any:
    """The answer to one call, and nothing to try again."""
    return (await run(create_console_toolset(max_retries=0, **options), backend, (tool, arguments)))[0]


# What is offered


def test_it_is_a_toolset_with_the_tools_by_name() -> None:
    toolset = create_console_toolset(id="console", max_retries=3)
    assert isinstance(toolset, FunctionToolset) and toolset.id == "console"
    assert list(toolset.tools) == [*FILES, *COMMANDS]
    assert toolset.tools["grep"].max_retries == 3
    assert toolset.tools["read_file"].function_schema.json_schema["required"] == ["path"]
    assert list(create_console_toolset(include_execute=False).tools) == FILES
    assert list(create_console_toolset(include_background=False).tools) == [*FILES, "execute"]
    hashline = create_console_toolset(edit_format="hashline")
    assert "hashline_edit" in hashline.tools and "edit_file" not in hashline.tools
    assert "move_file" in create_console_toolset(extra_tools=["move_file"]).tools
    assert toolsets.ConsoleToolset is create_console_toolset


def test_its_signature_is_that_of_the_reference() -> None:
    parameters = inspect.signature(create_console_toolset).parameters.values()
    assert [(p.name, p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY] == [
        ("id", None),
        ("include_execute", True),
        ("include_background", True),
        ("require_write_approval", False),
        ("require_execute_approval", True),
        ("default_ignore_hidden", True),
        ("permissions", None),
        ("max_retries", 1),
        ("image_support", False),
        ("max_image_bytes", 52428800),
        ("document_support", False),
        ("max_document_bytes", 52428800),
        ("edit_format", "str_replace"),
        ("descriptions", None),
    ]
    assert "require_execute_approval: 'bool' = True" in str(inspect.signature(create_console_toolset))


def test_what_asks_is_marked_for_those_who_look() -> None:
    def marked(**options: Any) -> list[str]:
        return [name for name, tool in create_console_toolset(**options).tools.items() if tool.requires_approval]

    commands = ["execute", "run_in_background"]
    assert marked() == commands
    assert marked(require_execute_approval=False) == []
    assert marked(require_write_approval=True) == ["write_file", "edit_file", *commands]
    assert marked(permissions=DEFAULT_RULESET) == ["write_file", "edit_file", *commands]
    assert marked(permissions=PermissionRuleset(default="allow"), require_write_approval=True) == []
    assert marked(permissions=PermissionRuleset(default="ask"), edit_format="hashline") == [
        "write_file",
        "hashline_edit",
        *commands,
    ]


async def test_only_what_the_backend_can_do_is_offered(local: LocalBackend, tmp_path: Path) -> None:
    toolset = create_console_toolset()
    for backend, expected in [
        (local, [*FILES, *COMMANDS]),
        (LocalBackend(root_dir=tmp_path, enable_execute=False), FILES),
        (StateBackend(), FILES),
        (PlainBackend(), FILES),
        (PlainSandbox(), [*FILES, *COMMANDS]),
        (ensure_async(StateBackend()), FILES),
        (LocalBackend(root_dir=tmp_path, permissions=READONLY_RULESET), ["ls", "read_file", "glob", "grep"]),
    ]:
        script = Script([])
        await script.agent(toolset).run("go", deps=Deps(backend))
        assert list(script.offered) == expected
        assert ("edit_file" in script.offered.get("write_file", "edit_file")) is True


async def test_rules_hide_what_they_deny_everywhere(local: LocalBackend) -> None:
    toolset = create_console_toolset(permissions=READONLY_RULESET)
    assert list(toolset.tools) == ["ls", "read_file", "glob", "grep"]
    script = Script([])
    await script.agent(toolset).run("go", deps=Deps(local))
    assert list(script.offered) == ["ls", "read_file", "glob", "grep"]
    assert list(create_console_toolset(permissions="readonly").tools) == list(toolset.tools)
    denied = create_console_toolset(permissions={"default": "allow", "edit": {"default": "deny"}})
    assert [name for name in FILES if name not in denied.tools] == ["edit_file"]
    with pytest.raises(ValueError, match="no preset 'nonsense' of permissions; there are: default, permissive"):
        create_console_toolset(permissions="nonsense")


async def test_descriptions_can_be_replaced() -> None:
    script = Script([])
    await script.agent(create_console_toolset(descriptions={"ls": "Look."})).run("go", deps=Deps(StateBackend()))
    assert script.offered["ls"] == "Look."
    with pytest.raises(ValueError, match="there is no tool `nonsense` to describe"):
        create_console_toolset(descriptions={"nonsense": "x"})
    with pytest.raises(ValueError, match="nonsense"):
        create_console_toolset(extra_tools=["nonsense"])


def test_texts_are_there_as_constants() -> None:
    assert "number:hash|text" in console.HASHLINE_READ_FILE_DESCRIPTION
    assert "number:hash" not in console.READ_FILE_DESCRIPTION
    for name in console.__all__:
        assert getattr(console, name) is not None
    for name in toolsets.__all__:
        assert getattr(toolsets, name) == getattr(console, name)
    assert "hashline_edit" in console.HASHLINE_CONSOLE_PROMPT
    assert get_console_system_prompt() == console.CONSOLE_SYSTEM_PROMPT
    assert get_console_system_prompt("hashline") == console.HASHLINE_CONSOLE_PROMPT
    for module in (console, toolsets):
        with pytest.raises(AttributeError, match="has no attribute 'NONSENSE'"):
            module.NONSENSE  # noqa: B018
    assert isinstance(Deps(1), ConsoleDeps) and not isinstance(1, ConsoleDeps)
    assert console.IMAGE_EXTENSIONS == {"png", "jpg", "jpeg", "gif", "webp"}
    assert console.IMAGE_MEDIA_TYPES["jpg"] == "image/jpeg" and console.DOCUMENT_MEDIA_TYPES == {"pdf": "application/pdf"}
    assert (console.DEFAULT_MAX_IMAGE_DIMENSION, console.DEFAULT_MAX_DOCUMENT_BYTES) == (1568, 50 * 1024 * 1024)


@pytest.mark.parametrize("missing", ["pydantic_ai", "pydantic_core"])
def test_without_pydantic_ai_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for module in ("workden.toolsets._toolset", "workden.toolsets._asks", "workden.capability", "pydantic_ai.capabilities"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    said = r"^this needs Pydantic AI, which is not installed: pip install 'workden\[console\]'$"
    with pytest.raises(ImportError, match=said if missing == "pydantic_ai" else "pydantic_core"):
        create_console_toolset()
    if missing == "pydantic_ai":
        with pytest.raises(ImportError, match=said):
            importlib.import_module("workden.capability")


async def test_without_a_backend_it_is_said_where_one_is_looked_for() -> None:
    with pytest.raises(UserError, match=r"works with `deps\.backend`"):
        await Script([]).agent(create_console_toolset()).run("go")


# What is answered


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
async def test_a_backend_that_somebody_wrote_works(later: bool) -> None:
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


async def test_methods_that_somebody_overrode_are_called(tmp_path: Path) -> None:
    class Shouting(LocalBackend):
        def read_bytes(self, path: str) -> bytes:
            return super().read_bytes(path).upper()

    (tmp_path / "a.txt").write_text("quiet")
    for path in ("a.txt", str(tmp_path / "a.txt")):
        assert await answer(Shouting(root_dir=tmp_path), "read_file", {"path": path}) == "     1\tQUIET"
    put_on = LocalBackend(root_dir=tmp_path)
    put_on.read_bytes = lambda path: b"mine"  # type: ignore[method-assign]
    assert await answer(put_on, "read_file", {"path": "a.txt"}) == "     1\tmine"


# What no run ends of


async def test_a_mistake_can_be_put_right_and_is_an_answer_in_the_end(local: LocalBackend) -> None:
    script = Script([("read_file", {"path": "nope"})] * 3 + [("read_file", {"nonsense": 1}), ("ls", {})])
    result = await script.agent(create_console_toolset(max_retries=1)).run("go", deps=Deps(local))
    requests = [message for message in result.all_messages() if isinstance(message, ModelRequest)]
    parts = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
    # An answer ends the row of attempts: the next mistake begins another.
    assert [part.retry is not None for part in parts] == [True, False, True, False, False]
    assert all("Error: File 'nope' not found" in part.content for part in parts[:3])
    assert "read_file has no argument `nonsense`" in parts[3].content


async def test_arguments_that_are_none_go_back_to_the_model(local: LocalBackend) -> None:
    script = Script([("ls", "[1]"), ("ls", {"path": 3}), ("ls", {})])
    result = await script.agent(create_console_toolset(max_retries=2)).run("go", deps=Deps(local))
    assert answers(result.all_messages())[-1] == "Directory '.' is empty or does not exist"
    with pytest.raises(UnexpectedModelBehavior):
        await Script([("ls", "[1]")]).agent(create_console_toolset(max_retries=0)).run("go", deps=Deps(local))


async def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/.env", action="deny")])
    )
    (tmp_path / ".env").write_text("KEY=1")
    for backend, toolset in [
        (LocalBackend(root_dir=tmp_path, permissions=rules), create_console_toolset()),
        (LocalBackend(root_dir=tmp_path), create_console_toolset(permissions=rules)),
    ]:
        read, searched = await run(
            toolset, backend, ("read_file", {"path": ".env"}), ("grep", {"pattern": "KEY", "ignore_hidden": False})
        )
        assert read.startswith("Error: cannot read `") and "denies it" in read
        assert searched == "No matches for 'KEY'"


async def test_rules_hold_for_a_backend_that_somebody_wrote() -> None:
    plain = PlainBackend(a_dot_txt="fine", b_dot_key="secret")
    rules = PermissionRuleset(
        default="allow", read=OperationPermissions(rules=[PermissionRule(pattern="**/*.key", action="deny")])
    )
    read, searched = await run(
        create_console_toolset(permissions=rules), plain, ("read_file", {"path": "b.key"}), ("grep", {"pattern": "e"})
    )
    assert "denies it" in read and searched == "Files containing 'e':\n  /a.txt"
    assert "read /b.key" not in plain.called


@pytest.mark.parametrize("later", [False, True])
async def test_what_a_backend_raises_is_an_answer(later: bool) -> None:
    class Broken(PlainSandbox):
        work_dir = "/"

        def read_bytes(self, path: str) -> bytes:
            raise RuntimeError("the disk is gone")

        def execute(self, command: str, timeout: int | None = None) -> Any:
            return "no response at all"

    backend = awaited(Broken()) if later else Broken()
    read, ran = await run(create_console_toolset(), backend, ("read_file", {"path": "a"}), ("execute", {"command": "x"}))
    assert "RuntimeError: the disk is gone" in read
    assert ran.startswith("Error: the backend failed in `execute`: AttributeError")


async def test_what_we_did_not_think_of_is_an_answer(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    toolset = create_console_toolset()
    monkeypatch.setattr("workden.toolsets._toolset._as_json", fail)
    assert await run(toolset, local, ("ls", {})) == ["Error: RuntimeError: unforeseen"]


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


# What is remembered


async def test_an_edit_of_what_somebody_else_changed_is_refused(local: LocalBackend, tmp_path: Path) -> None:
    toolset = create_console_toolset(max_retries=0)
    edit = ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"})
    (tmp_path / "a.txt").write_text("one\n")
    await run(toolset, local, ("read_file", {"path": "a.txt"}))
    (tmp_path / "a.txt").write_text("one more\n")
    stale, _, edited = await run(toolset, local, edit, ("read_file", {"path": "a.txt"}), edit)
    assert stale.startswith(
        "Error: 'a.txt' changed since you last read it. Read it again before editing so your change applies to the "
        "current contents."
    )
    assert edited == "Edited a.txt: replaced 1 occurrence(s)"
    # Another backend, and another agent, have read nothing.
    (tmp_path / "a.txt").write_text("one")
    assert (await run(toolset, LocalBackend(root_dir=tmp_path), edit))[0].startswith("Edited")
    (tmp_path / "a.txt").write_text("one")
    assert (await answer(local, *edit)).startswith("Edited")


@pytest.mark.parametrize("kind", [StateBackend, PlainBackend])
async def test_a_backend_is_not_kept_by_the_tools(kind: type[Any]) -> None:
    toolset = create_console_toolset()
    backend = kind()
    assert len(await run(toolset, backend, ("ls", {}))) == 1
    gone = weakref.ref(backend)
    del backend
    gc.collect()
    assert gone() is None


async def test_backends_that_cannot_be_referred_to_weakly_work_and_make_room() -> None:
    class Slotted:
        __slots__ = ("inner",)

        def __init__(self) -> None:
            self.inner = PlainBackend(a_dot_txt="x")

        def __getattr__(self, name: str) -> Any:
            if name == "execute":
                raise AttributeError(name)
            return getattr(self.inner, name)

    toolset = create_console_toolset()
    for _ in range(_met._MOST_HELD + 2):
        assert await run(toolset, Slotted(), ("ls", {})) == ["Contents of .:\n  a.txt (1 bytes)"]


async def test_a_child_process_makes_its_own(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    met = _met.Met({}, None)
    here = met.offered(local, "as_policy")
    assert met.offered(local, "as_policy") is here
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert met.offered(local, "as_policy") is not here
