"""Finds and runs the fenced examples in docstrings and Markdown.

A block that starts with ```` ```python ```` is run; one that mentions containers needs a daemon. `await` may stand
outside of functions, as in a notebook.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

_FENCED = re.compile(r"^(?P<indent>[ ]*)```python\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE)
_OF_CONTAINERS = re.compile(r"DockerSandbox\(|SessionManager\((?!sandbox_factory)|\"docker\"")


@dataclass(frozen=True)
class Example:
    """A block of Python in a text."""

    file: Path
    line: int
    code: str

    def compiled(self) -> CodeType:
        """Returns the block with the line numbers of its file."""
        padded = "\n" * (self.line - 1) + self.code
        return compile(padded, self.file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def run(self) -> dict[str, Any]:
        """Runs the block as a module. Returns its names."""
        names: dict[str, Any] = {"__name__": "__main__"}
        code = self.compiled()
        # Evaluating a code object with `await` in it returns a coroutine.
        result = eval(code, names)  # noqa: S307
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(result)
        return names

    def parameter(self, root: Path) -> Any:
        """Returns this example as a parameter of a test."""
        needs = [pytest.mark.docker] if _OF_CONTAINERS.search(self.code) else []
        return pytest.param(self, id=f"{self.file.relative_to(root)}:{self.line}", marks=needs)


def in_markdown(file: Path) -> Iterator[Example]:
    """Returns the blocks of a text."""
    yield from _blocks(file, file.read_text(), 1)


def in_docstrings(file: Path) -> Iterator[Example]:
    """Returns the blocks of all docstrings of a module."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                yield from _blocks(file, first.value.value, first.lineno)


def _blocks(file: Path, text: str, first_line: int) -> Iterator[Example]:
    for found in _FENCED.finditer(text):
        indent = found["indent"]
        code = "".join(line.removeprefix(indent) for line in found["code"].splitlines(keepends=True))
        yield Example(file, first_line + text.count("\n", 0, found.start("code")), code)
