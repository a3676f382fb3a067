"""What can be done with the files of a sandbox. Each method is written once, to be waited for or awaited."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workden._native import Failure
from workden._steps import Steps, waits
from workden.filesystem._mounts import normal
from workden.filesystem._raised import exception
from workden.filesystem.errors import PathNotInSandboxError
from workden.filesystem.results import DEFAULT_MAX_READ_CHARS, ReadResult

if TYPE_CHECKING:
    from workden._native import Place
    from workden.filesystem.sandbox import Sandbox

_MOST = 2**63 - 1
"""More than any file has."""


class FileOperations:
    """Files of a sandbox. Everything is watched over by the native half, from the path to the bytes."""

    _sandbox: Sandbox
    _place: Place

    @waits
    def read(self, path: str, max_chars: int = DEFAULT_MAX_READ_CHARS, offset: int = 0) -> Steps[ReadResult]:
        """Some characters of a text file, from `offset` on. Line endings are those of the file.

        Raises `PathNotInSandboxError`, `SuffixNotAllowedError`, `FileTooLargeError`, `FileNotFoundError`,
        `IsADirectoryError`, `ValueError` for numbers below zero, and `SandboxError` for a file that is no text.
        """
        path = os.fspath(path)
        for name, number in (("offset", offset), ("max_chars", max_chars)):
            if number < 0:
                raise ValueError(f"{name} must be >= 0, got {number}")
        text, total, more = "", 0, True
        try:
            # One answer has a ceiling; a caller that wants more than that gets several.
            while more:
                at = min(offset + len(text), _MOST)
                part, total, more = yield "read_chars", (path, at, min(max_chars - len(text), _MOST))
                text += part
                more = more and bool(part) and len(text) < max_chars
        except Failure as failure:
            raise exception(failure, self._sandbox, "read", path) from None
        is_cut = offset + len(text) < total
        return ReadResult(content=text, truncated=is_cut, total_chars=total, offset=offset, chars_read=len(text))

    @waits
    def write(self, path: str, content: str) -> Steps[str]:
        """Writes a whole text file; directories on the way are made.

        Raises `PathNotInSandboxError`, `PathNotWritableError`, `SuffixNotAllowedError` and `FileTooLargeError`.
        """
        path = os.fspath(path)
        self._check_links(path)
        try:
            yield "write", (path, content.encode())
        except Failure as failure:
            raise exception(failure, self._sandbox, "write", path) from None
        return f"Written {len(content)} characters to {self._sandbox._spelled(path)}"

    @waits
    def edit(self, path: str, old_text: str, new_text: str) -> Steps[str]:
        """Replaces a text that stands in the file exactly once. The rest of the file keeps its bytes.

        Raises `EditError` if the text is not there, or more than once, and what `read` and `write` raise.
        """
        path = os.fspath(path)
        try:
            yield "edit", (path, old_text, new_text, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "edit", path, old_text=old_text) from None
        shown = self._sandbox._spelled(path)
        return f"Edited {shown}: replaced {len(old_text)} chars with {len(new_text)} chars"

    @waits
    def delete(self, path: str) -> Steps[str]:
        """Deletes a file; of a link, the link.

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
        return f"Deleted {self._sandbox._spelled(path)}"

    def _is_directory(self, path: str) -> Steps[bool]:
        try:
            entry = yield "stat", (path,)
            return entry["is_dir"]
        except Failure as failure:
            if failure.kind == "not_found":
                # It may still be a link that leads nowhere, which can go.
                return False
            raise

    @waits
    def move(self, source: str, destination: str) -> Steps[str]:
        """Moves a file to where nothing is yet; directories on the way are made.

        Raises what `read`, `delete` and `write` raise, and `FileExistsError`.
        """
        source, destination = os.fspath(source), os.fspath(destination)
        self._check_links(destination)
        try:
            if (yield from self._is_directory(source)):
                raise IsADirectoryError(f"Cannot move directory: {source}")
            yield "rename", (source, destination, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "move", source, destination) from None
        return f"Moved {self._sandbox._spelled(source)} to {self._sandbox._spelled(destination)}"

    @waits
    def copy(self, source: str, destination: str) -> Steps[str]:
        """Copies a file to where nothing is yet; directories on the way are made.

        Raises what `read` and `write` raise, and `FileExistsError`.
        """
        source, destination = os.fspath(source), os.fspath(destination)
        self._check_links(destination)
        try:
            yield "copy", (source, destination, False)
        except Failure as failure:
            raise exception(failure, self._sandbox, "copy", source, destination) from None
        return f"Copied {self._sandbox._spelled(source)} to {self._sandbox._spelled(destination)}"

    def _check_links(self, path: str) -> None:
        # A link to another place of the host would be taken from the top of its directory here: safe, but new
        # directories in there are not what anybody who follows it means.
        if self._sandbox._led_to(path) is None:
            raise PathNotInSandboxError(path, self._sandbox.readable_roots)

    @waits
    def list_files(self, path: str = ".", pattern: str = "**/*") -> Steps[list[str]]:
        """The files below a directory that match a pattern, sorted; of `.`, those of all directories.

        There are none below what is not there. Raises `PathNotInSandboxError`, and `ValueError` for a pattern that
        leads out of the directory.
        """
        path = os.fspath(path)
        _check_pattern(pattern)
        # The directories of a sandbox with names are each searched from where they begin.
        is_all = normal(path) == "/" and self._sandbox.config.paths is not None
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
