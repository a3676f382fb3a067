"""deepagents (LangChain) over any backend of this package.

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

from workden import _said
from workden._commands import PlaceCommands
from workden._native import Failure
from workden._place_of import place_of
from workden._steps import Steps, awaited, waits

if TYPE_CHECKING:
    from workden._native import Place
    from workden.types import ExecuteResponse as Ran
    from workden.types import FileInfo

__all__ = ["WorkdenBackend", "WorkdenSandbox", "deep_backend"]

# What a model sees best as what it is, and not as characters.
_NOT_TEXT = frozenset(
    ".png .jpeg .jpg .webp .gif .heic .heif .mp4 .mpeg .mov .avi .flv .mpg .webm .wmv .3gpp .mkv "
    ".wav .mp3 .aiff .aac .ogg .flac .pdf .ppt .pptx".split()
)
# To be written with a backslash in a regular expression that means itself.
_SPECIAL = {ord(character): f"\\{character}" for character in r"\.+*?()|[]{}^$#&-~"}
# What it looks for in what went wrong with a directory.
_NO_LISTING = {"not_found": "path_not_found", "not_directory": "not_a_directory"}
# What deepagents calls what went wrong with a file that goes in or out.
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
    """A backend for `create_deep_agent` over one of this package, or over any of the same shape.

    It runs commands if that one does.
    """
    return (WorkdenSandbox if place_of(backend).has_commands() else WorkdenBackend)(backend)


def _file(content: str, encoding: str) -> FileData:
    # When it was made and changed need not be said.
    return cast("FileData", {"content": content, "encoding": encoding})


class WorkdenBackend(BackendProtocol):
    """Files of a backend, as deepagents wants them. Cancelling what is awaited ends it."""

    _place: Place

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self._place = place_of(backend)

    @waits
    def ls(self, path: str) -> Steps[LsResult]:
        """What is in a directory. Directories end in `/`."""
        try:
            found = yield "list_dir", (path,)
        except Failure as failure:
            why = _NO_LISTING.get(failure.kind) or _said.of_file(failure, path)
            return LsResult(error=f"Path '{path}': {why}")
        return LsResult(entries=[_entry(info) for info in found])

    async def als(self, path: str) -> LsResult:
        """The same, awaited."""
        return await awaited(self, "ls", path)

    @waits
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Steps[ReadResult]:
        """Lines of a file; all of one that is no text, in base64."""
        try:
            content = yield "read_bytes", (file_path,)
        except Failure as failure:
            return ReadResult(error=_said.of_file(failure, file_path))
        dot = file_path.rfind(".")
        if file_path[dot:].lower() not in _NOT_TEXT or dot < 0:
            try:
                return slice_read_response(_file(content.decode(), "utf-8"), offset, limit)
            except UnicodeDecodeError:
                pass
        return ReadResult(file_data=_file(base64.b64encode(content).decode(), "base64"))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """The same, awaited."""
        return await awaited(self, "read", file_path, offset, limit)

    @waits
    def write(self, file_path: str, content: str) -> Steps[WriteResult]:
        """Writes a file, whole or not at all, and makes the directories on the way."""
        try:
            yield "write", (file_path, content.encode())
        except UnicodeEncodeError as error:
            return WriteResult(error=f"Error writing file '{file_path}': not UTF-8: {error.reason}")
        except Failure as failure:
            return WriteResult(error=f"Error writing file '{file_path}': {_said.of_file(failure, file_path)}")
        return WriteResult(path=file_path)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """The same, awaited."""
        return await awaited(self, "write", file_path, content)

    @waits
    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> Steps[EditResult]:
        """Replaces text that is in the file once, or everywhere."""
        try:
            occurrences = yield "edit", (file_path, old_string, new_string, replace_all)
        except Failure as failure:
            return EditResult(error=f"Error: {_said.of_edit(failure, file_path, old_string)}")
        return EditResult(path=file_path, occurrences=occurrences)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """The same, awaited."""
        return await awaited(self, "edit", file_path, old_string, new_string, replace_all)

    @waits
    def delete(self, file_path: str) -> Steps[DeleteResult]:
        """Removes a file, or a directory with all that is in it. Of a link, the link."""
        try:
            yield "remove", (file_path, True)
        except Failure as failure:
            if failure.kind == "not_found":
                return DeleteResult(error=f"Error: '{file_path}' not found")
            return DeleteResult(error=f"Error deleting '{file_path}': {_said.of_file(failure, file_path)}")
        return DeleteResult(path=file_path)

    async def adelete(self, file_path: str) -> DeleteResult:
        """The same, awaited."""
        return await awaited(self, "delete", file_path)

    @waits
    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> Steps[GrepResult]:
        """Lines that hold a text, in files that are neither hidden nor ignored by git."""
        try:
            found = yield "grep", (pattern.translate(_SPECIAL), path or ".", glob, True)
        except Failure as failure:
            if failure.kind == "not_found":
                return GrepResult(matches=[])
            return GrepResult(error=_said.of_search(failure, path))
        kept = found if max_count is None else found[:max_count]
        matches = [{"path": match["path"], "line": match["line_number"], "text": match["line"]} for match in kept]
        return GrepResult(matches=matches, truncated=len(kept) < len(found))  # type: ignore[arg-type]

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """The same, awaited."""
        return await awaited(self, "grep", pattern, path, glob, max_count=max_count)

    @waits
    def glob(self, pattern: str, path: str | None = None) -> Steps[GlobResult]:
        """Files whose name matches, or whose path does if there is a `/` in the pattern."""
        try:
            matches = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        wide = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
        try:
            root = yield "realpath", (path or ".",)
            found = yield "glob", (wide, root)
        except Failure as failure:
            return GlobResult(error=_said.of_search(failure, path))
        # Hidden files are found, too: which of them are wanted is what deepagents knows.
        start = len(root.rstrip("/")) + 1
        return GlobResult(matches=[_entry(info) for info in found if matches(info["path"][start:])])

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """The same, awaited."""
        return await awaited(self, "glob", pattern, path)

    @waits
    def upload_files(self, files: list[tuple[str, bytes]]) -> Steps[list[FileUploadResponse]]:
        """Writes files. One that cannot be written does not keep the others from it."""
        uploaded: list[FileUploadResponse] = []
        for path, content in files:
            try:
                yield "write", (path, content)
            except Failure as failure:
                uploaded.append(FileUploadResponse(path=path, error=_code(failure)))
            else:
                uploaded.append(FileUploadResponse(path=path))
        return uploaded

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """The same, awaited."""
        return await awaited(self, "upload_files", files)

    @waits
    def download_files(self, paths: list[str]) -> Steps[list[FileDownloadResponse]]:
        """Reads files. One that cannot be read does not keep the others from it."""
        downloaded: list[FileDownloadResponse] = []
        for path in paths:
            try:
                content = yield "read_bytes", (path,)
            except Failure as failure:
                downloaded.append(FileDownloadResponse(path=path, error=_code(failure)))
            else:
                downloaded.append(FileDownloadResponse(path=path, content=content))
        return downloaded

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The same, awaited."""
        return await awaited(self, "download_files", paths)


class WorkdenSandbox(WorkdenBackend, SandboxBackendProtocol):
    """Files and commands of a backend, as deepagents wants them."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._id = str(getattr(backend, "id", None) or uuid.uuid4())

    @property
    def id(self) -> str:
        """What the backend is called."""
        return self._id

    def _refused(self, failure: Failure) -> None:
        """Nothing is raised: a refusal is an answer."""

    @waits
    def execute(self, command: str, *, timeout: int | None = None) -> Steps[ExecuteResponse]:
        """Runs a line in a shell to its end, or until its time is over: 120 seconds, unless told; never, if 0."""
        seconds = math.inf if timeout == 0 else timeout
        running = cast("Any", PlaceCommands.execute).steps(self, command, seconds)
        ran = yield from cast("Steps[Ran]", running)
        return ExecuteResponse(output=ran.output, exit_code=ran.exit_code, truncated=ran.truncated)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """The same, awaited. Cancelling it ends the command, with all that it started."""
        return await awaited(self, "execute", command, timeout=timeout)


def _entry(info: FileInfo) -> Any:
    if info["is_dir"]:
        return {"path": info["path"].rstrip("/") + "/", "is_dir": True, "size": 0}
    return {"path": info["path"], "is_dir": False, "size": info["size"] or 0}


def _code(failure: Failure) -> str:
    return _CODES.get(failure.kind, failure.sentence)
