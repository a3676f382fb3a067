"""The program in the package: where it is found, and the command line that runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workden import __main__, _program
from workden._native import __version__


def test_the_command_line_is_the_program_itself() -> None:
    said = subprocess.run([sys.executable, "-m", "workden", "--version"], check=True, capture_output=True, text=True)
    assert __version__ in said.stdout


def test_without_the_program_the_command_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WORKDEN_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_program, "_CARRIED", tmp_path)
    with pytest.raises(SystemExit, match="WORKDEN_PROGRAM"):
        __main__.main()


def test_the_named_comes_before_the_carried_and_that_before_the_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    carried, on_path = tmp_path / "carried", tmp_path / "path"
    for directory in (carried, on_path):
        directory.mkdir()
        (directory / "workden").write_text("#!/bin/sh\n")
        (directory / "workden").chmod(0o755)
    monkeypatch.setattr(_program, "_CARRIED", carried)
    monkeypatch.setenv("PATH", str(on_path))
    monkeypatch.setenv("WORKDEN_PROGRAM", "/named")
    assert _program.program() == "/named"
    monkeypatch.delenv("WORKDEN_PROGRAM")
    assert _program.program() == str(carried / "workden")
    (carried / "workden").unlink()
    assert _program.program() == str(on_path / "workden")


def test_keepers_for_containers_are_named_or_carried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_program, "_CARRIED", tmp_path)
    monkeypatch.setenv("WORKDEN_KEEPERS", "/named")
    assert _program.container_keepers() == "/named"
    monkeypatch.delenv("WORKDEN_KEEPERS")
    assert _program.container_keepers() is None
    (tmp_path / "workden-keeper-amd64").touch()
    assert _program.container_keepers() == str(tmp_path)


def test_main_replaces_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[object] = []
    monkeypatch.setenv("WORKDEN_PROGRAM", "/named")
    monkeypatch.setattr(__main__.os, "execv", lambda *what: became.append(what))
    monkeypatch.setattr(sys, "argv", ["workden", "run", "ls"])
    __main__.main()
    assert became == [("/named", ["/named", "run", "ls"])]
