"""`CompositeBackend` and `AsyncCompositeBackend`: several backends in one tree, routed by prefix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from workden._commands import NativeCommands
from workden._dual import with_steps
from workden._files import NativeFiles
from workden._native import NativeWorkspace
from workden._native_workspaces import native_workspace_of
from workden.adapter import AsyncBackgroundSandboxAdapter

if TYPE_CHECKING:
    from workden.types import FileInfo

__all__ = ["AsyncCompositeBackend", "CompositeBackend"]


class CompositeBackend(NativeFiles, NativeCommands):
    """Routes paths to backends. The longest prefix wins, and the default backend serves the rest.

    A `FilesystemBackend`, and a `LocalBackend` whose directories do not contain the prefix, see paths without the
    prefix; any other backend sees the whole path. `strip_prefix` overrides this for all. Commands run in the default
    backend, if it supports them. A search of `/` covers all backends.

    ```python
    from workden import CompositeBackend, FilesystemBackend, StateBackend

    project = FilesystemBackend("./project", virtual_mode=True)
    backend = CompositeBackend(default=StateBackend(), routes={"/project/": project})
    backend.write("/project/src/main.py", "print('hello')")
    backend.write("/temp/scratch.txt", "hello, again")
    assert [match["path"] for match in backend.grep_raw("hello")] == ["/project/src/main.py", "/temp/scratch.txt"]
    ```
    """

    def __init__(
        self, default: Any, routes: Mapping[str, Any] | None = None, *, strip_prefix: bool | None = None
    ) -> None:
        self._default = default
        self._routes = dict(routes or {})
        self._native = NativeWorkspace.composite(
            native_workspace_of(default),
            [
                (prefix, native_workspace_of(backend), _start(prefix, backend, strip_prefix))
                for prefix, backend in self._routes.items()
                if prefix.strip("/")
            ],
        )
        self._reset_background()

    @property
    def default(self) -> Any:
        """The backend for paths below no prefix."""
        return self._default

    @property
    def routes(self) -> dict[str, Any]:
        """The other backends, by prefix."""
        return dict(self._routes)

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        """Returns the files below `path` whose path matches, in all backends."""
        return super().glob_info(pattern, path)

    with_steps(glob_info, NativeFiles.glob_info.steps)  # type: ignore[attr-defined]


class AsyncCompositeBackend(AsyncBackgroundSandboxAdapter):
    """Async version of `CompositeBackend`. Its backends may be sync or async."""

    def __init__(
        self, default: Any, routes: Mapping[str, Any] | None = None, *, strip_prefix: bool | None = None
    ) -> None:
        super().__init__(CompositeBackend(default, routes, strip_prefix=strip_prefix))


def _start(prefix: str, backend: Any, strip_prefix: bool | None) -> str | None:
    """Returns where the paths of a prefix-stripping backend start; `None` if it sees whole paths."""
    from workden.backends.local import LocalBackend

    strips = _strips(prefix, backend) if strip_prefix is None else strip_prefix
    if not strips:
        return None
    return str(backend.root_dir) if isinstance(backend, LocalBackend) else "/"


def _strips(prefix: str, backend: Any) -> bool:
    from workden.backends.filesystem import FilesystemBackend
    from workden.backends.local import LocalBackend

    if isinstance(backend, FilesystemBackend):
        return True
    if not isinstance(backend, LocalBackend):
        return False
    route = PurePosixPath("/", prefix)
    return not any(route.is_relative_to(directory) for directory in backend.allowed_directories)
