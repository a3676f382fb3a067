"""Hashlines: recorded answers of pydantic-ai-backend, and properties of every edit."""

from __future__ import annotations

import doctest
import json
import random
from pathlib import Path
from typing import Any

import pytest
from waiting import LONG

import workden.hashline
from workden.hashline import (
    apply_hashline_edit,
    apply_hashline_edit_with_summary,
    format_hashline_output,
    line_hash,
)

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "hashline.json").read_text())


def test_hashes_are_those_of_the_reference() -> None:
    for line, expected in RECORDED["hashes"]:
        assert line_hash(line) == expected, line
    assert line_hash(content="a") == "0c"


def test_formats_are_those_of_the_reference() -> None:
    for text, offset, limit, expected in RECORDED["formats"]:
        assert format_hashline_output(text, offset, limit) == expected, (text, offset, limit)


def test_edits_are_those_of_the_reference() -> None:
    for arguments, expected in RECORDED["edits"]:
        assert list(apply_hashline_edit_with_summary(*arguments)) == expected, arguments
        assert list(apply_hashline_edit(*arguments)) == expected[:2], arguments


def test_a_long_text_has_no_ceiling() -> None:
    lines = [f"line {number} " + "x" * 40 for number in range(10_000)]
    shown = format_hashline_output("\n".join(lines) + "\n", limit=20_000).split("\n")
    assert shown == [f"{number}:{line_hash(line)}|{line}" for number, line in enumerate(lines, 1)]
    text, error = apply_hashline_edit("\n".join(lines), 5_000, line_hash(lines[4_999]), "new")
    assert error is None
    assert text == "\n".join(lines[:4_999] + ["new"] + lines[5_000:])


def test_numbers_below_zero_are_zero_when_lines_are_shown() -> None:
    assert format_hashline_output("a\nb\n", -5) == "1:0c|a\n2:92|b"
    assert format_hashline_output("a\nb\n", 0, -5) == "\n\n... (2 more lines)"


def test_the_same_text_comes_back_when_nothing_changes() -> None:
    text = "a" * 1_000
    assert apply_hashline_edit(text, 2, "00", "b")[0] is text


def test_lines_of_a_crlf_file_get_its_ends() -> None:
    text, error = apply_hashline_edit("a\r\nb\r\n", 1, line_hash("a\r"), "x\ny")
    assert (text, error) == ("x\r\ny\r\nb\r\n", None)


def test_half_a_character_is_an_error_of_python() -> None:
    for call in (lambda: line_hash("\ud800"), lambda: format_hashline_output("\ud800")):
        with pytest.raises(UnicodeEncodeError):
            call()


def test_an_edit_is_what_it_is_on_lists_of_lines() -> None:
    chosen = random.Random(11)
    for _ in range(2_000 if LONG else 500):
        lines = [chosen.choice(["", "a", "é", "b b"]) for _ in range(chosen.randint(1, 6))]
        end = chosen.choice(["", "\n"])
        # A text that ends in an empty line looks like one with a newline at its end.
        end = "\n" if lines[-1] == "" else end
        first = chosen.randint(1, len(lines))
        last = chosen.randint(first, len(lines))
        new = [chosen.choice(["x", "y z"]) for _ in range(chosen.randint(0, 3))]
        text, error = apply_hashline_edit(
            "\n".join(lines) + end, first, line_hash(lines[first - 1]), "\n".join(new), last, line_hash(lines[last - 1])
        )
        assert error is None
        assert text == "\n".join(lines[: first - 1] + new + lines[last:]) + end


def test_the_examples_hold() -> None:
    assert doctest.testmod(workden.hashline) == (0, 2)
