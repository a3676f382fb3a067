"""File operations of a sandbox. Each method is written once for sync and async callers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workden._dual import Steps, dual_method
from workden._native import Failure
from workden.filesystem._exceptions import exception
from workden.filesystem._mounts import normalize
from workden.filesystem.errors import PathNotInSandboxError
from workden.filesystem.results import DEFAULT_MAX_READ_CHARS, ReadResult

if TYPE_CHECKING:
    from workden._native import NativeWorkspace
    from workden.filesystem.sandbox import Sandbox

_MOST = 2**63 - 1
"""Larger than any file."""


class FileOperations:
    """Files of a sandbox. The native module enforces all limits."""

    _sandbox: Sandbox
    _native: NativeWorkspace

    @dual_method
    def read(self, path: str, max_chars: int = DEFAULT_MAX_READ_CHARS, offset: int = 0) -> Steps[ReadResult]:
        """Reads characters of a text file, starting at `offset`. Line endings are kept.

        Raises `PathNotInSandboxError`, `SuffixNotAllowedError`, `FileTooLargeError`, `FileNotFoundError`,
        `IsADirectoryError`, `ValueError` for negative numbers, and `SandboxError` for a file that is not text.
        """
        path = os.fspath(path)
        for name, number in (("offset", offset), ("max_chars", max_chars)):
            if number < 0:
                raise ValueError(f"{name} must be >= 0, got {number}")
        text, total, more = "", 0, True
        try:
            # One native answer is limited in size, so larger reads take several calls.
            while more:
                at = min(offset + len(text), _MOST)
                part, total, more = yield "read_chars", (path, at, min(max_chars - len(text), _MOST))
                text += part
                more = more and bool(part) and len(text) < max_chars
        except Failure as failure:
            raise exception(failure, self._sandbox, "read", path) from None
        is_cut = offset + len(text) < total
        return ReadResult(content=text, truncated=is_cut, total_chars=total, offset=offset, chars_read=len(text))

    @dual_method
    def write(self, path: str, content: str) -> Steps[str]:
        """Writes a text file; creates missing parent directories.

        Raises `PathNotInSandboxError`, `PathNotWritableError`, `SuffixNotAllowedError` and `FileTooLargeError`.
        """
        path = os.fspath(path)
        self._check_links(path)
        try:
            yield "write", (path, content.encode())
        except Failure as failure:
            raise exception(failure, self._sandbox, "write", path) from None
        return f"Written {len(content)} characters to {self._sandbox._display(path)}"

    @dual_method
    def edit(self, path: str, old_text: str, new_text: str) -> Steps[str]:
        """Replaces text that occurs exactly once. The rest of the file keeps its bytes.

        Raises `EditError` if the text is missing or occurs more than once, and the exceptions of `read` and `write`.
        """
        path = os.fspath(path)
        try:
            yield "edit", (path, old_text, new_text, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "edit", path, old_text=old_text) from None
        shown = self._sandbox._display(path)
        return f"Edited {shown}: replaced {len(old_text)} chars with {len(new_text)} chars"

    @dual_method
    def delete(self, path: str) -> Steps[str]:
        """Deletes a file or a link.

        Raises `PathNotInSandboxError`, `PathNotWritableError`, `SuffixNotAllowedError`, `FileNotFoundError` and
        `IsADirectoryError`.
        """
        path = os.fspath(path)
        try:
            if (yield from self._is_directory(path)):
                raise IsADirectoryError(f"Cannot delete directory with delete_file: {path}")
            yield "remove", (path, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "delete", path) from None
        return f"Deleted {self._sandbox._display(path)}"

    def _is_directory(self, path: str) -> Steps[bool]:
        try:
            entry = yield "stat", (path,)
            return entry["is_dir"]
        except Failure as failure:
            if failure.kind == "not_found":
                # It may still be a dangling link, which can be deleted.
                return False
            raise

    @dual_method
    def move(self, source: str, destination: str) -> Steps[str]:
        """Moves a file to a path that does not exist; creates missing parent directories.

        Raises the exceptions of `read`, `delete` and `write`, and `FileExistsError`.
        """
        source, destination = os.fspath(source), os.fspath(destination)
        self._check_links(destination)
        try:
            if (yield from self._is_directory(source)):
                raise IsADirectoryError(f"Cannot move directory: {source}")
            yield "rename", (source, destination, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "move", source, destination) from None
        return f"Moved {self._sandbox._display(source)} to {self._sandbox._display(destination)}"

    @dual_method
    def copy(self, source: str, destination: str) -> Steps[str]:
        """Copies a file to a path that does not exist; creates missing parent directories.

        Raises the exceptions of `read` and `write`, and `FileExistsError`.
        """
        source, destination = os.fspath(source), os.fspath(destination)
        self._check_links(destination)
        try:
            yield "copy", (source, destination, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "copy", source, destination) from None
        return f"Copied {self._sandbox._display(source)} to {self._sandbox._display(destination)}"

    def _check_links(self, path: str) -> None:
        # The native module resolves an absolute link from the root of its directory. That is safe, but creating
        # directories there would not be what the link means.
        if self._sandbox._resolve_or_none(path) is None:
            raise PathNotInSandboxError(path, self._sandbox.readable_roots)

    @dual_method
    def list_files(self, path: str = ".", pattern: str = "**/*") -> Steps[list[str]]:
        """Returns the files below a directory that match a pattern, sorted; for `.`, the files of all directories.

        A missing directory has none. Raises `PathNotInSandboxError`, and `ValueError` for a pattern that leaves the
        directory.
        """
        path = os.fspath(path)
        _check_pattern(pattern)
        # Named directories are each searched from their own root.
        is_all = normalize(path) == "/" and self._sandbox.config.paths is not None
        found: set[str] = set()
        for root in self._sandbox._readable if is_all else [path]:
            try:
                entries = yield "glob", (pattern, root)
            except Failure as failure:
                if failure.kind in ("not_found", "not_directory"):
                    continue
                raise exception(failure, self._sandbox, "list", path) from None
            found.update(self._sandbox._label(entry["path"]) for entry in entries)
        return sorted(found)


def _check_pattern(pattern: str) -> None:
    if pattern.startswith(("/", "~")):
        raise ValueError("pattern must be relative (must not start with '/' or '~')")
    if "\0" in pattern:
        raise ValueError("pattern must not contain null bytes")
    if ".." in pattern.split("/"):
        raise ValueError("pattern must not contain '..' path segments")
