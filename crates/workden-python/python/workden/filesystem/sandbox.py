"""`Sandbox`: which files may be used, and how."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Literal

from workden._native import Failure, Place
from workden.filesystem import _deciding, _endings, errors
from workden.filesystem import config as configurations
from workden.filesystem._mounts import Asks, Mounted, holding, is_within, mounted, normal, wanted
from workden.filesystem._raised import exception
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

# Programs find here what a sandbox is made of, and what it raises.
__all__ = ["Sandbox"]
__all__ += configurations.__all__
__all__ += errors.__all__


class Sandbox:
    """Directories of the host under names of their own, each with limits.

    Paths are `name/rest`, with or without a `/` in front; with one root, or with mounts, they start with `/`. No
    link and no `..` leads out of a directory. A sandbox does no work on files: a `FileSystemToolset` does.

    ```python
    from workden.filesystem import PathConfig, Sandbox, SandboxConfig

    config = SandboxConfig(paths={"output": PathConfig(root="./output", mode="rw")})
    sandbox = Sandbox(config)
    assert sandbox.resolve("output/a.txt").name == "a.txt"
    assert sandbox.derive(allow_read="output/reports").writable_roots == []
    ```
    """

    config: SandboxConfig
    """What it was made of; a derived sandbox has that of its parent."""

    def __init__(self, config: SandboxConfig, base_path: str | os.PathLike[str] | None = None) -> None:
        self.config = config
        self._mounts = mounted(config, Path(base_path or Path.cwd()).absolute())
        self._parent: Sandbox | None = None
        self._derivation = ""
        try:
            self._began(Place.mounts(wanted(self._mounts, "nowhere")))
        except Failure as failure:
            raise ValueError(str(failure)) from None

    def _began(self, place: Place) -> None:
        self._place = place
        self._asking_places: dict[Asks, Place] = {}
        self._readable = place.readable_roots()
        self._writable = place.writable_roots()

    def _asking(self, asks: Asks) -> Place:
        """The same place, in which something has to be approved, by whom `_deciding` names."""
        if asks not in self._asking_places:
            if self._parent is None:
                self._asking_places[asks] = Place.mounts(wanted(self._mounts, asks), _deciding.ask)
            else:
                self._asking_places[asks] = self._parent._asking(asks).derive(self._derivation)
        return self._asking_places[asks]

    # What may be used

    @property
    def readable_roots(self) -> list[str]:
        """The places that may be read, in the order of the configuration."""
        return [self._label(root) for root in self._readable]

    @property
    def writable_roots(self) -> list[str]:
        """The places that may be written."""
        return [self._label(root) for root in self._writable]

    def can_read(self, path: str) -> bool:
        """Whether something may be read there, with or without approval. Endings and sizes aside."""
        places = self._led_to(path)
        return places is not None and self._may_read(places)

    def can_write(self, path: str) -> bool:
        """Whether something may be written there, with or without approval. Endings and sizes aside."""
        places = self._led_to(path)
        return places is not None and self._may_write(places)

    def needs_read_approval(self, path: str) -> bool:
        """Whether somebody has to approve reading there; not where it is not possible at all."""
        places = self._led_to(path)
        if places is None or not self._may_read(places):
            return False
        return any(self._mount_of(place, path).config.read_approval for place in places)

    def needs_write_approval(self, path: str) -> bool:
        """Whether somebody has to approve writing there; not where it is not possible at all."""
        places = self._led_to(path)
        if places is None or not self._may_write(places):
            return False
        return any(self._mount_of(place, path).config.write_approval for place in places)

    # Where it is

    def resolve(self, path: str) -> Path:
        """Where a path is on the host, links followed.

        What is done with that path is no longer watched over: between this and an `open` a directory can become a
        link. The methods of a toolset do not have that gap.
        """
        return self.get_path_config(path)[1]

    def get_path_config(
        self, path: str, *, op: Literal["read", "write"] | None = None
    ) -> tuple[str, Path, PathConfig | Mount]:
        """The name of the directory that a path is in, where the path is on the host, and the limits there.

        With `op`, only if that may be done there.
        """
        places = self._found(path)
        may_read, may_write = self._may_read(places), self._may_write(places)
        if not (may_read or may_write) or (op == "read" and not may_read):
            raise PathNotInSandboxError(os.fspath(path), self.readable_roots)
        if op == "write" and not may_write:
            raise PathNotWritableError(os.fspath(path), self.writable_roots)
        mount = self._mount_of(places[-1], path)
        return mount.name, Path(mount.host_path(places[-1])), mount.config

    def get_mount_root(self, mount_point: str) -> Path:
        """The host directory of a mount."""
        for mount in self._mounts:
            if mount.at == normal(mount_point):
                return Path(mount.host)
        raise PathNotInSandboxError(mount_point, self.readable_roots)

    # Limits

    def check_suffix(self, path: Path, config: PathConfig | Mount, *, virtual_path: str | None = None) -> None:
        """Raises `SuffixNotAllowedError` unless a file of this name is allowed."""
        if not _endings.allows(config.suffixes, path.name):
            shown = virtual_path or self._seen(path)
            raise SuffixNotAllowedError(shown, _endings.ending(path.name), list(config.suffixes or []))

    def check_size(self, path: Path, config: PathConfig | Mount, *, virtual_path: str | None = None) -> None:
        """Raises `FileTooLargeError` if there is a file that is larger than is allowed."""
        if config.max_file_bytes is not None and path.exists():
            size = path.stat().st_size
            if size > config.max_file_bytes:
                raise FileTooLargeError(virtual_path or self._seen(path), size, config.max_file_bytes)

    # Less of it

    def derive(
        self,
        *,
        allow_read: str | list[str] | None = None,
        allow_write: str | list[str] | None = None,
        readonly: bool | None = None,
        inherit: bool = False,
    ) -> Sandbox:
        """A sandbox for somebody else, with the same paths, of which it can use some.

        Without any places it can use none, unless it is to `inherit` all. What may be written may be read as well,
        unless `allow_read` says otherwise. Limits and approvals are those of this sandbox.
        """
        given = {"allow_read": _listed(allow_read), "allow_write": _listed(allow_write)}
        places = {key: self._places(entries) for key, entries in given.items() if entries is not None}
        derivation = json.dumps({**places, "readonly": readonly, "inherit": inherit})
        try:
            place = self._place.derive(derivation)
        except Failure as failure:
            if failure.refusal is None and failure.kind == "read_only":
                raise SandboxPermissionEscalationError(failure.sentence) from None
            entries = [entry for entries in given.values() for entry in entries or []]
            raise exception(failure, self, "derive", *(entries or ["."])) from None
        child = copy.copy(self)
        child._parent, child._derivation = self, derivation
        child._began(place)
        return child

    def _places(self, entries: list[str]) -> list[str]:
        return [self._normal(entry) for entry in entries]

    # Names

    def _label(self, place: str) -> str:
        """A path as people write it here."""
        return place if self.config.paths is None else place.lstrip("/") or "."

    def _spelled(self, path: str) -> str:
        """The same for a path that somebody typed, which may be none."""
        place = normal(path)
        return path if place is None else self._label(place)

    def _seen(self, host: Path) -> str:
        """A path of the host as it is seen in here."""
        for mount in self._mounts:
            place = mount.seen(str(host))
            if place is not None:
                return self._label(place)
        return host.name

    def _normal(self, path: str) -> str:
        place = normal(os.fspath(path))
        if place is None:
            raise PathNotInSandboxError(path, self.readable_roots)
        return place

    def _mount_of(self, place: str, typed: str) -> Mounted:
        mount = holding(self._mounts, place)
        if mount is None:
            raise PathNotInSandboxError(os.fspath(typed), self.readable_roots)
        return mount

    def _found(self, path: str) -> tuple[str, str]:
        """A path in its normal form, and where it leads through links: also in here."""
        place = leads = self._normal(path)
        while True:
            mount = self._mount_of(leads, path)
            host = os.path.realpath(mount.host_path(leads))
            seen = mount.seen(host)
            # What is still a link now is one of a circle.
            if seen is None or os.path.islink(host):
                raise PathNotInSandboxError(os.fspath(path), self.readable_roots)
            if holding(self._mounts, seen) is mount:
                return place, seen
            # Another directory is mounted there, further in, and what it covers is not to be seen.
            leads = seen

    def _led_to(self, path: str) -> tuple[str, str] | None:
        """The same, and nothing if it leads out of here."""
        try:
            return self._found(path)
        except PathNotInSandboxError:
            return None

    def _is_directory(self, path: str) -> bool:
        places = self._led_to(path)
        return places is not None and os.path.isdir(self._mount_of(places[-1], path).host_path(places[-1]))

    def _may_read(self, places: tuple[str, str]) -> bool:
        return all(any(is_within(place, root) for root in self._readable) for place in _once(places))

    def _may_write(self, places: tuple[str, str]) -> bool:
        return all(
            any(is_within(place, root) for root in self._writable)
            and self._mount_of(place, place).config.mode == "rw"
            for place in _once(places)
        )


def _once(places: tuple[str, str]) -> tuple[str, ...]:
    """Most paths lead nowhere else."""
    return places if places[0] != places[1] else places[:1]


def _listed(entries: str | os.PathLike[str] | list[str] | None) -> list[str] | None:
    if entries is None:
        return None
    if isinstance(entries, (str, os.PathLike)):
        return [os.fspath(entries)]
    return [os.fspath(entry) for entry in entries]
