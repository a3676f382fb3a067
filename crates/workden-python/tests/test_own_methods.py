"""Custom methods are called, in tools and in composites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import RetryPromptPart, ToolReturnPart
from scripted import Script

from workden import CompositeBackend, EditResult, LocalBackend, create_console_toolset


class Frozen(LocalBackend):
    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return EditResult(error="edits are frozen today")


class Counting(LocalBackend):
    edits = 0

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        self.edits += 1
        return super().edit(path, old_string, new_string, replace_all)


class Redacted(LocalBackend):
    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return super().read(path, offset, limit).replace("SECRET", "******")


class RedactedBytes(LocalBackend):
    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(path).replace(b"SECRET", b"******")


class Plain(LocalBackend):
    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return "no numbers\nhere"


class Refusing(LocalBackend):
    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        return "Error: not today"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("# SECRET x\nsecond\nthird\n")
    return tmp_path


def asked(backend: Any, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Returns the text for the model, of an answer or of a retry."""
    ran = Script(list(calls)).agent(create_console_toolset(backend=backend)).run_sync("go")
    parts = [part for message in ran.all_messages() for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, (ToolReturnPart, RetryPromptPart))]


EDIT = ("edit_file", {"path": "a.py", "old_string": "SECRET", "new_string": "HACK"})
READ = ("read_file", {"path": "a.py"})


def test_an_edit_that_refuses_is_asked(work: Path) -> None:
    (said,) = asked(Frozen(work), EDIT)
    assert "edits are frozen today" in said and "HACK" not in (work / "a.py").read_text()


def test_an_edit_that_does_it_is_asked_once(work: Path) -> None:
    backend = Counting(work)
    assert "replaced 1" in asked(backend, READ, EDIT)[-1]
    assert backend.edits == 1 and (work / "a.py").read_text().startswith("# HACK x\n")
    # A missing file has the native message.
    assert "not found" in asked(backend, EDIT)[-1]


def test_a_read_that_leaves_something_out_is_what_is_shown(work: Path) -> None:
    (shown,) = asked(Redacted(work), READ)
    assert "# ****** x" in shown and "SECRET" not in shown
    (part,) = asked(Redacted(work), ("read_file", {"path": "a.py", "limit": 1}))
    assert "# ****** x" in part and "second" not in part and "2 more lines" in part


def test_a_read_in_its_own_form_is_shown_and_one_that_refuses_is_told(work: Path) -> None:
    assert "no numbers" in asked(Plain(work), READ)[0]
    assert "not today" in asked(Refusing(work), READ)[0]
    assert "not found" in asked(Refusing(work), ("read_file", {"path": "none.py"}))[0]


def test_omitted_bytes_are_not_written_back(work: Path) -> None:
    asked(RedactedBytes(work), ("edit_file", {"path": "a.py", "old_string": "second", "new_string": "2nd"}))
    assert (work / "a.py").read_text() == "# SECRET x\n2nd\nthird\n"


@pytest.mark.parametrize("kind", [LocalBackend, Redacted, Counting])
def test_a_route_with_custom_methods_starts_at_its_directory(work: Path, kind: type[LocalBackend]) -> None:
    backend = CompositeBackend(LocalBackend(work / "else"), {"/p": kind(work)})
    assert backend.read("/p/a.py").splitlines()[1].endswith("second")
    assert backend.edit("/p/a.py", "third", "3rd").occurrences == 1
    assert (work / "a.py").read_text().endswith("3rd\n")
