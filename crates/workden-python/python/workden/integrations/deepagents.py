"""Uses any backend of this package with deepagents (LangChain).

```python
from workden import LocalBackend
from workden.integrations.deepagents import deep_backend

backend = deep_backend(LocalBackend(root_dir="./workspace"))
# agent = create_deep_agent(model=..., backend=backend)
```
"""

from __future__ import annotations

import base64
import math
import uuid
from typing import TYPE_CHECKING, Any, cast

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        ExecuteResponse,
        FileData,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        SandboxBackendProtocol,
        WriteResult,
    )
    from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob, slice_read_response
except ImportError as error:
    raise ImportError("deepagents is not installed: pip install workden[deepagents]") from error

from workden import _messages
from workden._commands import NativeCommands
from workden._dual import Steps, dual_method, run_async
from workden._native import Failure
from workden._native_workspaces import native_workspace_of
from workden.integrations._whole_output import whole_output

if TYPE_CHECKING:
    from workden._native import NativeWorkspace
    from workden.types import ExecuteResponse as Ran
    from workden.types import FileInfo

__all__ = ["WorkdenBackend", "WorkdenSandbox", "deep_backend"]

MAX_BINARY_BYTES = 500 * 1024
"""Maximum size of a file that `read` returns as binary data, as in the sandboxes of deepagents."""
# Suffixes of files that are passed on as binary data.
_NOT_TEXT = frozenset(
    ".png .jpeg .jpg .webp .gif .heic .heif .mp4 .mpeg .mov .avi .flv .mpg .webm .wmv .3gpp .mkv "
    ".wav .mp3 .aiff .aac .ogg .flac .pdf .ppt .pptx".split()
)
# Escapes special characters of regular expressions.
_SPECIAL = {ord(character): f"\\{character}" for character in r"\.+*?()|[]{}^$#&-~"}
# Error codes that deepagents looks for in a failed listing.
_NO_LISTING = {"not_found": "path_not_found", "not_directory": "not_a_directory"}
# Error codes of deepagents for uploads and downloads.
_CODES = {
    "not_found": "file_not_found",
    "is_directory": "is_directory",
    "invalid_path": "invalid_path",
    "not_directory": "invalid_path",
    "escapes": "permission_denied",
    "denied": "permission_denied",
    "approval_needed": "permission_denied",
    "permission_denied": "permission_denied",
    "read_only": "permission_denied",
}


def deep_backend(backend: Any) -> WorkdenBackend:
    """Wraps a backend of this package, or any object with the same methods, for `create_deep_agent`.

    The result runs commands if the backend does.
    """
    return (WorkdenSandbox if native_workspace_of(backend).has_commands() else WorkdenBackend)(backend)


def _file(content: str, encoding: str) -> FileData:
    # Creation and modification times are optional.
    return cast("FileData", {"content": content, "encoding": encoding})


class WorkdenBackend(BackendProtocol):
    """Files of a backend with the interface of deepagents. Cancelling an async method cancels the operation."""

    _native: NativeWorkspace

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self._native = native_workspace_of(backend)

    @dual_method
    def ls(self, path: str) -> Steps[LsResult]:
        """Lists a directory."""
        try:
            found = yield "list_dir", (path,)
        except Failure as failure:
            why = _NO_LISTING.get(failure.kind) or _messages.file_error(failure, path)
            return LsResult(error=f"Path '{path}': {why}")
        return LsResult(entries=[_entry(info) for info in found])

    async def als(self, path: str) -> LsResult:
        """Async version of `ls`."""
        return await run_async(self, "ls", path)

    @dual_method
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Steps[ReadResult]:
        """Returns lines of a file; a file that is not text is returned whole, in base64, up to 500 KiB.

        The last line of a page ends without a newline, unless it is the last line of the file.
        """
        dot = file_path.rfind(".")
        is_text = dot < 0 or file_path[dot:].lower() not in _NOT_TEXT
        try:
            if not is_text and ((yield "stat", (file_path,))["size"] or 0) > MAX_BINARY_BYTES:
                return _too_large(file_path)
            content = yield "read_bytes", (file_path,)
        except Failure as failure:
            return ReadResult(error=_messages.file_error(failure, file_path))
        if is_text:
            try:
                return _page(slice_read_response(_file(content.decode(), "utf-8"), offset, limit))
            except UnicodeDecodeError:
                pass
        if len(content) > MAX_BINARY_BYTES:
            return _too_large(file_path)
        return ReadResult(file_data=_file(base64.b64encode(content).decode(), "base64"))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Async version of `read`."""
        return await run_async(self, "read", file_path, offset, limit)

    @dual_method
    def write(self, file_path: str, content: str) -> Steps[WriteResult]:
        """Writes a file atomically, and creates missing parent directories."""
        try:
            yield "write", (file_path, content.encode())
        except UnicodeEncodeError as error:
            return WriteResult(error=f"Error writing file '{file_path}': not UTF-8: {error.reason}")
        except Failure as failure:
            return WriteResult(error=f"Error writing file '{file_path}': {_messages.file_error(failure, file_path)}")
        return WriteResult(path=file_path)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Async version of `write`."""
        return await run_async(self, "write", file_path, content)

    @dual_method
    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> Steps[EditResult]:
        """Replaces text that occurs once, or every occurrence."""
        try:
            occurrences = yield "edit", (file_path, old_string, new_string, replace_all)
        except Failure as failure:
            return EditResult(error=f"Error: {_edit_error(failure, file_path, old_string)}")
        return EditResult(path=file_path, occurrences=occurrences)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Async version of `edit`."""
        return await run_async(self, "edit", file_path, old_string, new_string, replace_all)

    @dual_method
    def delete(self, file_path: str) -> Steps[DeleteResult]:
        """Removes a file, a link, or a directory tree."""
        try:
            yield "remove", (file_path, True)
        except Failure as failure:
            if failure.kind == "not_found":
                return DeleteResult(error=f"Error: '{file_path}' not found")
            return DeleteResult(error=f"Error deleting '{file_path}': {_messages.file_error(failure, file_path)}")
        return DeleteResult(path=file_path)

    async def adelete(self, file_path: str) -> DeleteResult:
        """Async version of `delete`."""
        return await run_async(self, "delete", file_path)

    @dual_method
    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> Steps[GrepResult]:
        """Returns the lines that contain a text, in files that are neither hidden nor ignored by git."""
        try:
            found = yield "grep", (pattern.translate(_SPECIAL), path or ".", glob, True)
        except Failure as failure:
            if failure.kind == "not_found":
                return GrepResult(matches=[])
            return GrepResult(error=_messages.search_error(failure, path))
        kept = found if max_count is None else found[:max_count]
        matches = [{"path": match["path"], "line": match["line_number"], "text": match["line"]} for match in kept]
        return GrepResult(matches=matches, truncated=len(kept) < len(found))  # type: ignore[arg-type]

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Async version of `grep`."""
        return await run_async(self, "grep", pattern, path, glob, max_count=max_count)

    @dual_method
    def glob(self, pattern: str, path: str | None = None) -> Steps[GlobResult]:
        """Returns files whose name matches, or whose path matches if the pattern contains `/`."""
        try:
            matches = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        wide = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
        try:
            root = yield "realpath", (path or ".",)
            found = yield "glob", (wide, root)
        except Failure as failure:
            return GlobResult(error=_messages.search_error(failure, path))
        # The native search includes hidden files; the matcher of deepagents selects among them.
        start = len(root.rstrip("/")) + 1
        return GlobResult(matches=[_entry(info) for info in found if matches(info["path"][start:])])

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Async version of `glob`."""
        return await run_async(self, "glob", pattern, path)

    @dual_method
    def upload_files(self, files: list[tuple[str, bytes]]) -> Steps[list[FileUploadResponse]]:
        """Writes files at absolute paths. A failure does not affect the other files."""
        uploaded: list[FileUploadResponse] = []
        for path, content in files:
            if not path.startswith("/"):
                uploaded.append(FileUploadResponse(path=path, error="invalid_path"))
                continue
            try:
                yield "write", (path, content)
            except Failure as failure:
                uploaded.append(FileUploadResponse(path=path, error=_code(failure)))
            else:
                uploaded.append(FileUploadResponse(path=path))
        return uploaded

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Async version of `upload_files`."""
        return await run_async(self, "upload_files", files)

    @dual_method
    def download_files(self, paths: list[str]) -> Steps[list[FileDownloadResponse]]:
        """Reads files at absolute paths. A failure does not affect the other files."""
        downloaded: list[FileDownloadResponse] = []
        for path in paths:
            if not path.startswith("/"):
                downloaded.append(FileDownloadResponse(path=path, error="invalid_path"))
                continue
            try:
                content = yield "read_bytes", (path,)
            except Failure as failure:
                downloaded.append(FileDownloadResponse(path=path, error=_code(failure)))
            else:
                downloaded.append(FileDownloadResponse(path=path, content=content))
        return downloaded

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Async version of `download_files`."""
        return await run_async(self, "download_files", paths)


class WorkdenSandbox(WorkdenBackend, SandboxBackendProtocol):
    """Files and commands of a backend with the interface of deepagents."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._id = str(getattr(backend, "id", None) or uuid.uuid4())

    @property
    def id(self) -> str:
        """The id of the backend."""
        return self._id

    def _refused(self, failure: Failure) -> None:
        """Raises nothing: a refusal is an answer."""

    def _shortened(self, output: str) -> Steps[tuple[str, bool]]:
        return whole_output(output)

    @dual_method
    def execute(self, command: str, *, timeout: int | None = None) -> Steps[ExecuteResponse]:
        """Runs a shell command until it exits, or for `timeout` seconds (default: 120; 0 means no limit).

        The output is whole up to some 10 MiB.
        """
        seconds = math.inf if timeout == 0 else timeout
        running = cast("Any", NativeCommands.execute).steps(self, command, seconds)
        ran = yield from cast("Steps[Ran]", running)
        return ExecuteResponse(output=ran.output, exit_code=ran.exit_code, truncated=ran.truncated)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Async version of `execute`. Cancelling it kills the command and its children."""
        return await run_async(self, "execute", command, timeout=timeout)


def _page(read: ReadResult) -> ReadResult:
    """Returns lines as the sandboxes of deepagents do: joined by newlines, so that joined pages are the file."""
    if read.next_offset is not None and read.file_data is not None:
        read.file_data["content"] = read.file_data["content"].removesuffix("\n")
    return read


def _too_large(path: str) -> ReadResult:
    return ReadResult(error=f"File '{path}': Binary file exceeds maximum preview size of {MAX_BINARY_BYTES} bytes")


def _edit_error(failure: Failure, path: str, old_string: str) -> str:
    if failure.kind != "ambiguous":
        return _messages.edit_error(failure, path, old_string)
    _, parts = _messages.refusal(failure)
    return (
        f"String '{old_string}' found multiple times ({parts.get('matches', 'several')}). "
        "Use replace_all=True to replace all, or provide more context."
    )


def _entry(info: FileInfo) -> Any:
    # Without a final `/`: the backends of deepagents differ, and its sandboxes have none.
    return {"path": info["path"], "is_dir": info["is_dir"], "size": info["size"] or 0}


def _code(failure: Failure) -> str:
    return _CODES.get(failure.kind, failure.sentence)
