"""The file half of a backend over a native place, in the words of pydantic-ai-backend.

Each method exists twice: `read` waits, and `_read` is awaited. `ensure_async` makes a backend of the latter.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workden import _said
from workden._native import Failure
from workden.types import EditResult, FileInfo, GrepMatch, WriteResult

if TYPE_CHECKING:
    from workden._native import Place

_CUT = "\n\n... (truncated at 200,000 chars — pass a smaller `limit`/`offset` or use `grep` to read the rest)"


class PlaceFiles:
    """Files of a place. What a class of backends does its own way, it overrides."""

    _place: Place

    def _refused(self, failure: Failure) -> None:
        """Raises what this backend raises for a refusal, if it raises anything."""

    # Waiting

    def exists(self, path: str) -> bool:
        """Whether there is a file."""
        return self._place.exists(os.fspath(path))

    def ls_info(self, path: str) -> list[FileInfo]:
        """What is in a directory: directories first, then by name. Nothing, if there is no such directory."""
        try:
            return self._place.ls(os.fspath(path))
        except Failure as failure:
            self._refused(failure)
            return []

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; nothing, if there is none that may be read."""
        try:
            return self._place.read_bytes(os.fspath(path))
        except Failure as failure:
            self._refused(failure)
            return b""

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Lines with their numbers, `offset` lines into the file."""
        path = os.fspath(path)
        try:
            return _read_said(self._place.read(path, max(offset, 0), max(limit, 0)), offset)
        except Failure as failure:
            self._refused(failure)
            return f"Error: {_said.of_file(failure, path)}"

    def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file, whole or not at all, and makes the directories on the way."""
        path = os.fspath(path)
        try:
            return WriteResult(path=self._place.write(path, _bytes_of(content)))
        except UnicodeEncodeError as error:
            return WriteResult(error=str(error))
        except Failure as failure:
            self._refused(failure)
            return WriteResult(error=_said.of_file(failure, path))

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text that is in the file once, or everywhere. The rest of the file keeps its bytes."""
        path = os.fspath(path)
        try:
            occurrences = self._place.edit(path, old_string, new_string, replace_all)
        except Failure as failure:
            self._refused(failure)
            return EditResult(error=_said.of_edit(failure, path, old_string))
        return EditResult(path=path, occurrences=occurrences)

    def glob_info(self, pattern: str, path: str = ".") -> list[FileInfo]:
        """Files below `path` whose path matches, newest first."""
        try:
            return self._place.glob(pattern, os.fspath(path))
        except Failure as failure:
            self._refused(failure)
            return []

    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Lines that match a regular expression, in files that are neither hidden nor ignored by git."""
        try:
            return self._place.grep(pattern, os.fspath(path or "."), glob, ignore_hidden)
        except Failure as failure:
            self._refused(failure)
            return _search_said(failure, path)


def _bytes_of(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(content)


def _read_said(read: tuple[str, int, bool], offset: int) -> str:
    text, total, _ = read
    if offset >= total and not (offset == 0 and total == 0):
        return f"Error: Offset {offset} exceeds file length ({total} lines)"
    return text


def _search_said(failure: Failure, path: str | None) -> list[GrepMatch] | str:
    if failure.kind == "invalid_pattern":
        return f"Error: Invalid regex pattern: {failure.sentence}"
    if failure.kind == "not_found":
        return f"Error: Path '{path}' not found"
    return f"Error: {_said.of_file(failure, str(path or '.'))}"
