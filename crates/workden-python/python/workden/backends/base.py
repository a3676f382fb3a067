"""`BaseSandbox`: base class for custom sandboxes that implement only commands."""

from __future__ import annotations

import os
import posixpath
import time
import uuid
from abc import ABC, abstractmethod

from workden.backends import _patterns, _shell
from workden.types import EditResult, ExecuteResponse, FileInfo, GrepMatch, WriteResult

__all__ = ["CODE_EXT", "TEXT_EXT", "BaseSandbox"]

CODE_EXT = frozenset("c cpp cs css go h html java js jsx php py rb rs sh sql ts tsx".split())
"""Suffixes of source code."""
TEXT_EXT = frozenset("csv json log md toml txt xml yaml yml".split())
"""Suffixes of other text files."""


class BaseSandbox(ABC):
    """A sandbox whose file operations are shell commands run through `execute`.

    The shell needs `sh`, `find`, `grep`, `awk`, `stat`, `base64` and the like, from GNU or busybox. Subclasses also
    implement `edit`, which may call the given implementation:

    ```python
    import subprocess
    from workden import BaseSandbox, EditResult, ExecuteResponse

    class Shell(BaseSandbox):
        def execute(self, command, timeout=None):
            ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=timeout)
            return ExecuteResponse(ran.stdout + ran.stderr, ran.returncode)

        def edit(self, path, old_string, new_string, replace_all=False):
            return super().edit(path, old_string, new_string, replace_all)

    assert Shell().exists("/etc/passwd")
    ```
    """

    def __init__(self, sandbox_id: str | None = None) -> None:
        self._id = sandbox_id or str(uuid.uuid4())
        self._last_activity = time.time()

    @property
    def id(self) -> str:
        """The id of this sandbox."""
        return self._id

    def start(self) -> None:  # noqa: B027  optional for subclasses
        """Starts the sandbox now instead of on first use."""

    def stop(self) -> None:  # noqa: B027
        """Ends the sandbox."""

    def is_alive(self) -> bool:
        """Whether the sandbox is running."""
        return False

    @abstractmethod
    def execute(self, command: str, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell command until it exits, or for `timeout` seconds."""

    @abstractmethod
    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces text that occurs once, or every occurrence. The rest of the file keeps its bytes."""
        path = os.fspath(path)
        ran = self._run(_shell.cat_script(path), path)
        if ran.code:
            return EditResult(error=f"File '{path}' not found")
        old = old_string.encode()
        times = ran.output.count(old) if old else 0
        if times == 0:
            return EditResult(error=f"String '{old_string}' not found in file")
        if times > 1 and not replace_all:
            return EditResult(
                error=f"String '{old_string}' found {times} times. "
                "Use replace_all=True to replace all, or provide more context."
            )
        written = self.write(path, ran.output.replace(old, new_string.encode()))
        if written.error:
            return EditResult(error=written.error)
        return EditResult(path=path, occurrences=times)

    def exists(self, path: str) -> bool:
        """Whether a file exists. Returns `False` for directories and invalid paths."""
        path = os.fspath(path)
        return "\0" not in path and self.execute(f"test -f {_shell.quoted(path)}").exit_code == 0

    def ls_info(self, path: str) -> list[FileInfo]:
        """Lists a directory: directories first, then by name. Returns an empty list if it does not exist."""
        path = os.fspath(path)
        ran = self._run(_shell.list_script(path), path)
        infos = [_info(posixpath.normpath(told.path), told) for told in _shell.parse_entries(ran.output)]
        return sorted(infos, key=lambda info: (not info["is_dir"], info["name"]))

    def read_bytes(self, path: str) -> bytes:
        """Returns the content of a file; empty if it does not exist or may not be read."""
        path = os.fspath(path)
        ran = self._run(_shell.cat_script(path), path)
        return b"" if ran.code else ran.output

    def read(self, path: str, offset: int = 0, limit: int = 2000) -> str:
        """Returns numbered lines, starting `offset` lines into the file, or a text that starts with `Error: `."""
        path, offset = os.fspath(path), max(offset, 0)
        ran = self._run(_shell.read_script(path, offset, max(limit, 0)), path)
        if ran.code == _shell.NOT_FOUND:
            return f"Error: File '{path}' not found"
        if ran.code == _shell.IS_DIRECTORY:
            return f"Error: '{path}' is a directory"
        if ran.code:
            return f"Error: {ran.complaint or f'{path!r} is not a readable file'}"
        count, _, text = ran.output.partition(b"\n")
        total = int(count)
        if offset >= total and offset > 0:
            return f"Error: Offset {offset} exceeds file length ({total} lines)"
        lines = text.decode(errors="replace").split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        shown = "\n".join(f"{offset + nth:>6}\t{line.rstrip(chr(13))}" for nth, line in enumerate(lines, 1))
        more = total - offset - len(lines)
        return f"{shown}\n\n... ({more} more lines)" if more > 0 else shown

    def write(self, path: str, content: str | bytes) -> WriteResult:
        """Writes a file atomically, and creates missing parent directories."""
        path = os.fspath(path)
        if "\0" in path:
            return WriteResult(error=_NUL)
        try:
            error = _shell.write(self._hear, path, content.encode() if isinstance(content, str) else bytes(content))
        except UnicodeEncodeError as why:
            error = f"the content cannot be written as UTF-8: {why.reason}"
        return WriteResult(error=error) if error else WriteResult(path=path)

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files below `path` whose path matches, by name. `*` stops at `/`, and `**` does not."""
        path, pattern = os.fspath(path), pattern.lstrip("/")
        start = _named_start(path)
        ran = self._run(_shell.find_script(start, _patterns.below(start, pattern)), path + pattern)
        prefix = start.rstrip("/") + "/"
        all = {told.path.removeprefix(prefix): told for told in _shell.parse_entries(ran.output)}
        found = [all[path] for path in _patterns.matching(pattern, all)]
        return sorted((_info(posixpath.normpath(told.path), told) for told in found), key=lambda info: info["path"])

    def grep_raw(
        self, pattern: str, path: str | None = None, glob: str | None = None, ignore_hidden: bool = True
    ) -> list[GrepMatch] | str:
        """Returns the lines that match an extended regular expression of `grep -E`, or an error message.

        `glob` matches names of files at any depth.
        """
        start = _named_start(os.fspath(path or "."))
        hidden = _patterns.not_hidden(start) if ignore_hidden else ""
        try:
            conditions = _patterns.named(glob)
        except ValueError as error:
            return f"Error: Invalid glob pattern: {error}"
        script = _shell.grep_script(_patterns.extended(pattern), start, conditions, hidden)
        ran = self._run(script, start + pattern + (glob or ""))
        if ran.code == _shell.NOT_FOUND:
            return f"Error: Path '{path}' not found"
        if ran.code == _shell.BAD_PATTERN:
            return f"Error: Invalid regex pattern: {ran.complaint}"
        if ran.code:
            return f"Error: {ran.complaint}"
        found = sorted(_shell.matches(ran.output), key=lambda match: match[:2])
        return [GrepMatch(path=posixpath.normpath(at), line_number=number, line=line) for at, number, line in found]

    def _hear(self, command: str) -> ExecuteResponse:
        return self.execute(command)

    def _run(self, script: str, typed: str) -> _shell.ShellResult:
        if "\0" in typed:
            return _shell.ShellResult(1, b"", _NUL)
        return _shell.run(self._hear, script)


_NUL = "invalid path: it contains a NUL"


def _named_start(path: str) -> str:
    """Returns the start of a search as `find` prints it in front of its results."""
    path = posixpath.normpath(path)
    return f"./{path}" if path.startswith("-") else path


def _info(path: str, told: _shell.Entry) -> FileInfo:
    return FileInfo(name=posixpath.basename(path), path=path, is_dir=told.is_dir, size=told.size)
