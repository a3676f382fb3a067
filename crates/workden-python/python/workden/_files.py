"""Files of a backend over a native workspace, with the signatures of pydantic-ai-backend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workden import _messages
from workden._dual import Steps, dual_method
from workden._native import Failure
from workden.types import EditResult, FileInfo, GrepMatch, WriteResult

if TYPE_CHECKING:
    from workden._native import NativeWorkspace


class NativeFiles:
    """Files of a native workspace. Backends override the methods in which they differ."""

    _native: NativeWorkspace

    def _refused(self, failure: Failure) -> None:
        """Raises this backend's exception for a refusal, if it has one."""

    @dual_method
    def exists(self, path: str) -> Steps[bool]:
        """Whether a file exists. Returns `False` for directories, invalid paths and files that may not be read."""
        try:
            return (yield "exists", (os.fspath(path),))
        except Failure:
            return False

    @dual_method
    def ls_info(self, path: str) -> Steps[list[FileInfo]]:
        """Lists a directory: directories first, then by name. Returns an empty list if it does not exist."""
        try:
            return (yield "ls", (os.fspath(path),))
        except Failure as failure:
            self._refused(failure)
            return []

    @dual_method
    def read_bytes(self, path: str) -> Steps[bytes]:
        """Returns the content of a file; empty if it does not exist or may not be read."""
        try:
            return (yield "read_bytes", (os.fspath(path),))
        except Failure as failure:
            self._refused(failure)
            return b""

    @dual_method
    def read(self, path: str, offset: int = 0, limit: int = 2000) -> Steps[str]:
        """Returns numbered lines, starting `offset` lines into the file, or a text that starts with `Error: `."""
        path = os.fspath(path)
        try:
            text, _, _ = yield "read", (path, max(offset, 0), max(limit, 0))
        except Failure as failure:
            self._refused(failure)
            if failure.kind == "out_of_range":
                return (yield from self._past_the_end(path, offset))
            return f"Error: {_messages.file_error(failure, path)}"
        return text

    def _past_the_end(self, path: str, offset: int) -> Steps[str]:
        try:
            _, total, _ = yield "read", (path, 0, 0)
        except Failure as failure:
            return f"Error: {_messages.file_error(failure, path)}"
        return f"Error: Offset {offset} exceeds file length ({total} lines)"

    @dual_method
    def write(self, path: str, content: str | bytes) -> Steps[WriteResult]:
        """Writes a file atomically, and creates missing parent directories."""
        path = os.fspath(path)
        try:
            written = yield "write", (path, content.encode() if isinstance(content, str) else content)
        except UnicodeEncodeError as error:
            return WriteResult(error=f"the content cannot be written as UTF-8: {error.reason}")
        except Failure as failure:
            self._refused(failure)
            return WriteResult(error=_messages.file_error(failure, path))
        return WriteResult(path=written)

    @dual_method
    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> Steps[EditResult]:
        """Replaces text that occurs once, or every occurrence. The rest of the file keeps its bytes."""
        path = os.fspath(path)
        try:
            occurrences = yield "edit", (path, old_string, new_string, replace_all)
        except Failure as failure:
            self._refused(failure)
            return EditResult(error=_messages.edit_error(failure, path, old_string))
        return EditResult(path=path, occurrences=occurrences)

    @dual_method
    def glob_info(self, pattern: str, path: str = ".") -> Steps[list[FileInfo]]:
        """Returns the files below `path` whose path matches, newest first."""
        try:
            return (yield "glob", (pattern, os.fspath(path)))
        except Failure as failure:
            self._refused(failure)
            return []

    @dual_method
    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> Steps[list[GrepMatch] | str]:
        """Returns the lines that match a regular expression, in files that are neither hidden nor ignored by git."""
        try:
            return (yield "grep", (pattern, os.fspath(path or "."), glob, ignore_hidden))
        except Failure as failure:
            self._refused(failure)
            return _messages.search_error(failure, path)
