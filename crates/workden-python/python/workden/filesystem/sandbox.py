"""`Sandbox`: which files may be used, and how."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Literal

from workden._native import Failure, NativeWorkspace
from workden.filesystem import _decisions, _suffixes, errors
from workden.filesystem import config as configurations
from workden.filesystem._exceptions import exception
from workden.filesystem._mounts import (
    Asks,
    MountedDirectory,
    is_within,
    mount_containing,
    mounted,
    native_config,
    normalize,
)
from workden.filesystem.config import Mount, PathConfig, RootSandboxConfig, SandboxConfig
from workden.filesystem.errors import (
    EditError,
    FileTooLargeError,
    PathNotInSandboxError,
    PathNotWritableError,
    SandboxError,
    SandboxPermissionEscalationError,
    SuffixNotAllowedError,
)

# Programs import the configuration and the errors from this module, too.
__all__ = ["Sandbox"]
__all__ += configurations.__all__
__all__ += errors.__all__


class Sandbox:
    """Named host directories, each with limits.

    Paths are `name/rest`, with or without a leading `/`; with one root, or with mounts, they start with `/`. No link
    and no `..` leads out of a directory. A sandbox does not access files itself: a `FileSystemToolset` does.

    ```python
    from workden.filesystem import PathConfig, Sandbox, SandboxConfig

    config = SandboxConfig(paths={"output": PathConfig(root="./output", mode="rw")})
    sandbox = Sandbox(config)
    assert sandbox.resolve("output/a.txt").name == "a.txt"
    assert sandbox.derive(allow_read="output/reports").writable_roots == []
    ```
    """

    config: SandboxConfig
    """The configuration; a derived sandbox has the one of its parent."""

    def __init__(self, config: SandboxConfig, base_path: str | os.PathLike[str] | None = None) -> None:
        self.config = config
        self._mounts = mounted(config, Path(base_path or Path.cwd()).absolute())
        self._parent: Sandbox | None = None
        self._derivation = ""
        try:
            self._set_native(NativeWorkspace.mounts(native_config(self._mounts, "nowhere")))
        except Failure as failure:
            raise ValueError(str(failure)) from None

    def _set_native(self, native: NativeWorkspace) -> None:
        self._native = native
        self._asking_workspaces: dict[Asks, NativeWorkspace] = {}
        self._readable = native.readable_roots()
        self._writable = native.writable_roots()

    def _asking_workspace(self, asks: Asks) -> NativeWorkspace:
        """Returns a native workspace in which calls require approval, answered through `_decisions`."""
        if asks not in self._asking_workspaces:
            if self._parent is None:
                asking = NativeWorkspace.mounts(native_config(self._mounts, asks), _decisions.ask)
            else:
                asking = self._parent._asking_workspace(asks).derive(self._derivation)
            self._asking_workspaces[asks] = asking
        return self._asking_workspaces[asks]

    # Access

    @property
    def readable_roots(self) -> list[str]:
        """The readable directories, in the order of the configuration."""
        return [self._label(root) for root in self._readable]

    @property
    def writable_roots(self) -> list[str]:
        """The writable directories."""
        return [self._label(root) for root in self._writable]

    def can_read(self, path: str) -> bool:
        """Whether a path may be read, with or without approval. Suffixes and sizes are not checked."""
        paths = self._resolve_or_none(path)
        return paths is not None and self._may_read(paths)

    def can_write(self, path: str) -> bool:
        """Whether a path may be written, with or without approval. Suffixes and sizes are not checked."""
        paths = self._resolve_or_none(path)
        return paths is not None and self._may_write(paths)

    def needs_read_approval(self, path: str) -> bool:
        """Whether reading a path requires approval. `False` if it may not be read at all."""
        paths = self._resolve_or_none(path)
        if paths is None or not self._may_read(paths):
            return False
        return any(self._mount_of(virtual_path, path).config.read_approval for virtual_path in paths)

    def needs_write_approval(self, path: str) -> bool:
        """Whether writing a path requires approval. `False` if it may not be written at all."""
        paths = self._resolve_or_none(path)
        if paths is None or not self._may_write(paths):
            return False
        return any(self._mount_of(virtual_path, path).config.write_approval for virtual_path in paths)

    # Host paths

    def resolve(self, path: str) -> Path:
        """Returns the host path of a path, with links resolved.

        Operations on the host path are not checked: a directory can become a link before an `open`. The methods of a
        toolset do not have that gap.
        """
        return self.get_path_config(path)[1]

    def get_path_config(
        self, path: str, *, op: Literal["read", "write"] | None = None
    ) -> tuple[str, Path, PathConfig | Mount]:
        """Returns the name of the directory that contains a path, the host path, and the limits there.

        With `op`, only if that operation is allowed there.
        """
        paths = self._resolve_virtual(path)
        may_read, may_write = self._may_read(paths), self._may_write(paths)
        if not (may_read or may_write) or (op == "read" and not may_read):
            raise PathNotInSandboxError(os.fspath(path), self.readable_roots)
        if op == "write" and not may_write:
            raise PathNotWritableError(os.fspath(path), self.writable_roots)
        mount = self._mount_of(paths[-1], path)
        return mount.name, Path(mount.host_path(paths[-1])), mount.config

    def get_mount_root(self, mount_point: str) -> Path:
        """Returns the host directory of a mount."""
        for mount in self._mounts:
            if mount.at == normalize(mount_point):
                return Path(mount.host)
        raise PathNotInSandboxError(mount_point, self.readable_roots)

    # Limits

    def check_suffix(self, path: Path, config: PathConfig | Mount, *, virtual_path: str | None = None) -> None:
        """Raises `SuffixNotAllowedError` unless a file of this name is allowed."""
        if not _suffixes.allows(config.suffixes, path.name):
            shown = virtual_path or self._virtual_path(path)
            raise SuffixNotAllowedError(shown, _suffixes.suffix_of(path.name), list(config.suffixes or []))

    def check_size(self, path: Path, config: PathConfig | Mount, *, virtual_path: str | None = None) -> None:
        """Raises `FileTooLargeError` if the file exists and is larger than is allowed."""
        if config.max_file_bytes is not None and path.exists():
            size = path.stat().st_size
            if size > config.max_file_bytes:
                raise FileTooLargeError(virtual_path or self._virtual_path(path), size, config.max_file_bytes)

    # Derived sandboxes

    def derive(
        self,
        *,
        allow_read: str | list[str] | None = None,
        allow_write: str | list[str] | None = None,
        readonly: bool | None = None,
        inherit: bool = False,
    ) -> Sandbox:
        """Returns a sandbox with the same paths and fewer rights, for example for a sub-agent.

        Without any paths it has no access, unless it is to `inherit` all. A writable path is readable as well, unless
        `allow_read` says otherwise. Limits and approvals are those of this sandbox.
        """
        given = {"allow_read": _as_list(allow_read), "allow_write": _as_list(allow_write)}
        paths = {key: self._normal_paths(entries) for key, entries in given.items() if entries is not None}
        derivation = json.dumps({**paths, "readonly": readonly, "inherit": inherit})
        try:
            native = self._native.derive(derivation)
        except Failure as failure:
            if failure.refusal is None and failure.kind == "read_only":
                raise SandboxPermissionEscalationError(failure.sentence) from None
            entries = [entry for entries in given.values() for entry in entries or []]
            raise exception(failure, self, "derive", *(entries or ["."])) from None
        child = copy.copy(self)
        child._parent, child._derivation = self, derivation
        child._set_native(native)
        return child

    def _normal_paths(self, entries: list[str]) -> list[str]:
        return [self._normal(entry) for entry in entries]

    # Names

    def _label(self, virtual_path: str) -> str:
        """Returns a path in the form that callers use."""
        return virtual_path if self.config.paths is None else virtual_path.lstrip("/") or "."

    def _display(self, path: str) -> str:
        """Returns a typed path in that form; unchanged if it is invalid."""
        normal = normalize(path)
        return path if normal is None else self._label(normal)

    def _virtual_path(self, host: Path) -> str:
        """Returns a host path as a virtual path."""
        for mount in self._mounts:
            virtual_path = mount.seen(str(host))
            if virtual_path is not None:
                return self._label(virtual_path)
        return host.name

    def _normal(self, path: str) -> str:
        normal = normalize(os.fspath(path))
        if normal is None:
            raise PathNotInSandboxError(path, self.readable_roots)
        return normal

    def _mount_of(self, virtual_path: str, typed: str) -> MountedDirectory:
        mount = mount_containing(self._mounts, virtual_path)
        if mount is None:
            raise PathNotInSandboxError(os.fspath(typed), self.readable_roots)
        return mount

    def _resolve_virtual(self, path: str) -> tuple[str, str]:
        """Returns the normalized path and its target after following links, both inside the sandbox."""
        normal = leads = self._normal(path)
        while True:
            mount = self._mount_of(leads, path)
            host = os.path.realpath(mount.host_path(leads))
            seen = mount.seen(host)
            # A path that is still a link is part of a cycle.
            if seen is None or os.path.islink(host):
                raise PathNotInSandboxError(os.fspath(path), self.readable_roots)
            if mount_containing(self._mounts, seen) is mount:
                return normal, seen
            # Another directory is mounted further in, and hides the files below it.
            leads = seen

    def _resolve_or_none(self, path: str) -> tuple[str, str] | None:
        """Like `_resolve_virtual`, but returns `None` for a path that leads outside."""
        try:
            return self._resolve_virtual(path)
        except PathNotInSandboxError:
            return None

    def _is_directory(self, path: str) -> bool:
        paths = self._resolve_or_none(path)
        return paths is not None and os.path.isdir(self._mount_of(paths[-1], path).host_path(paths[-1]))

    def _may_read(self, paths: tuple[str, str]) -> bool:
        return all(any(is_within(path, root) for root in self._readable) for path in _distinct(paths))

    def _may_write(self, paths: tuple[str, str]) -> bool:
        return all(
            any(is_within(path, root) for root in self._writable)
            and self._mount_of(path, path).config.mode == "rw"
            for path in _distinct(paths)
        )


def _distinct(paths: tuple[str, str]) -> tuple[str, ...]:
    """Drops the second path if both are equal, as usual."""
    return paths if paths[0] != paths[1] else paths[:1]


def _as_list(entries: str | os.PathLike[str] | list[str] | None) -> list[str] | None:
    if entries is None:
        return None
    if isinstance(entries, (str, os.PathLike)):
        return [os.fspath(entries)]
    return [os.fspath(entry) for entry in entries]
