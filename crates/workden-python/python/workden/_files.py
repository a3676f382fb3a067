"""The file half of a backend over a native place, in the words of pydantic-ai-backend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workden import _said
from workden._native import Failure
from workden._steps import Steps, waits
from workden.types import EditResult, FileInfo, GrepMatch, WriteResult

if TYPE_CHECKING:
    from workden._native import Place


class PlaceFiles:
    """Files of a place. What a class of backends does its own way, it overrides."""

    _place: Place

    def _refused(self, failure: Failure) -> None:
        """Raises what this backend raises for a refusal, if it raises anything."""

    @waits
    def exists(self, path: str) -> Steps[bool]:
        """Whether there is a file. Directories, bad paths and what may not be read are `False`."""
        try:
            return (yield "exists", (os.fspath(path),))
        except Failure:
            return False

    @waits
    def ls_info(self, path: str) -> Steps[list[FileInfo]]:
        """What is in a directory: directories first, then by name. Nothing, if there is no such directory."""
        try:
            return (yield "ls", (os.fspath(path),))
        except Failure as failure:
            self._refused(failure)
            return []

    @waits
    def read_bytes(self, path: str) -> Steps[bytes]:
        """The content of a file; nothing, if there is none that may be read."""
        try:
            return (yield "read_bytes", (os.fspath(path),))
        except Failure as failure:
            self._refused(failure)
            return b""

    @waits
    def read(self, path: str, offset: int = 0, limit: int = 2000) -> Steps[str]:
        """Lines with their numbers, `offset` lines into the file; or a text that starts with `Error: `."""
        path = os.fspath(path)
        try:
            text, _, _ = yield "read", (path, max(offset, 0), max(limit, 0))
        except Failure as failure:
            self._refused(failure)
            return f"Error: {_said.of_file(failure, path)}"
        return text

    @waits
    def write(self, path: str, content: str | bytes) -> Steps[WriteResult]:
        """Writes a file, whole or not at all, and makes the directories on the way."""
        path = os.fspath(path)
        try:
            written = yield "write", (path, content.encode() if isinstance(content, str) else content)
        except UnicodeEncodeError as error:
            return WriteResult(error=f"the content cannot be written as UTF-8: {error.reason}")
        except Failure as failure:
            self._refused(failure)
            return WriteResult(error=_said.of_file(failure, path))
        return WriteResult(path=written)

    @waits
    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> Steps[EditResult]:
        """Replaces text that is in the file once, or everywhere. The rest of the file keeps its bytes."""
        path = os.fspath(path)
        try:
            occurrences = yield "edit", (path, old_string, new_string, replace_all)
        except Failure as failure:
            self._refused(failure)
            return EditResult(error=_said.of_edit(failure, path, old_string))
        return EditResult(path=path, occurrences=occurrences)

    @waits
    def glob_info(self, pattern: str, path: str = ".") -> Steps[list[FileInfo]]:
        """Files below `path` whose path matches, newest first."""
        try:
            return (yield "glob", (pattern, os.fspath(path)))
        except Failure as failure:
            self._refused(failure)
            return []

    @waits
    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> Steps[list[GrepMatch] | str]:
        """Lines that match a regular expression, in files that are neither hidden nor ignored by git."""
        try:
            return (yield "grep", (pattern, os.fspath(path or "."), glob, ignore_hidden))
        except Failure as failure:
            self._refused(failure)
            return _said.of_search(failure, path)
