"""Refusals of local backends: commands by rules, and missing directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from workden import FilesystemBackend, LocalBackend
from workden.permissions import DEFAULT_RULESET, READONLY_RULESET, PermissionAskError


def test_a_denied_command_does_not_start_in_the_background_either(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path, permissions=READONLY_RULESET)
    with pytest.raises(PermissionError, match="^Permission denied"):
        backend.execute_background("touch a.txt")
    assert backend.execute("touch a.txt").output.startswith("Error: Permission denied")
    assert list(tmp_path.iterdir()) == []


def test_an_unapproved_command_is_denied_or_raised_by_the_fallback(tmp_path: Path) -> None:
    denies = LocalBackend(tmp_path, permissions=DEFAULT_RULESET, ask_fallback="deny")
    answer = denies.execute("touch a.txt")
    assert (answer.exit_code, answer.output) == (
        1,
        "Error: Permission denied for execute on 'touch a.txt' (approval required)",
    )
    with pytest.raises(PermissionAskError):
        LocalBackend(tmp_path, permissions=DEFAULT_RULESET).execute("touch a.txt")
    assert list(tmp_path.iterdir()) == []


def test_the_rules_of_a_backend_can_be_asked(tmp_path: Path) -> None:
    assert LocalBackend(tmp_path).permission_checker is None
    backend = LocalBackend(tmp_path, permissions=READONLY_RULESET)
    checker = backend.permission_checker
    assert checker is not None and checker is backend.permission_checker
    assert (checker.check_sync("write", "/a.txt"), checker.check_sync("read", "/a.txt")) == ("deny", "allow")


def test_a_directory_that_is_not_there_is_made_only_if_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^Root directory does not exist: {tmp_path}/none$"):
        FilesystemBackend(tmp_path / "none")
    FilesystemBackend(tmp_path / "made", virtual_mode=True).write("/a.txt", "text")
    assert (tmp_path / "made/a.txt").read_text() == "text"
