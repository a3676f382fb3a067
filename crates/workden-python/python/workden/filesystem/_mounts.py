"""The directories of a sandbox: their virtual paths and their host paths."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workden.filesystem.config import Mount, PathConfig, SandboxConfig


@dataclass(frozen=True)
class MountedDirectory:
    """One directory of a sandbox."""

    at: str
    """Its virtual path, which starts with `/`."""
    name: str
    """Its name."""
    host: str
    """Its host path, with links resolved."""
    config: PathConfig | Mount
    """Its limits."""

    def host_path(self, virtual_path: str) -> str:
        """Returns the host path of a virtual path in this directory."""
        return _joined(self.host, _below(self.at, virtual_path) or "")

    def seen(self, host_path: str) -> str | None:
        """Returns the virtual path of a host path, or `None` if it is outside."""
        rest = _below(self.host, host_path)
        return None if rest is None else _joined(self.at, rest)


def mounted(config: SandboxConfig, base: Path) -> list[MountedDirectory]:
    """Returns the directories of a configuration, in order. Missing ones are created."""
    if config.root is not None:
        root = config.root
        limits = PathConfig(
            root=str(root.root),
            mode="ro" if root.readonly else "rw",
            suffixes=root.suffixes,
            max_file_bytes=root.max_file_bytes,
        )
        return [MountedDirectory("/", "/", _ensure_directory(base / root.root), limits)]
    if config.mounts is not None:
        all = [(m.mount_point, m.mount_point, m.host_path, m) for m in config.mounts]
    else:
        all = [(_mount_point(name), name, path.root, path) for name, path in (config.paths or {}).items()]
    mounts = [MountedDirectory(at, name, _ensure_directory(base / host), limits) for at, name, host, limits in all]
    for nth, mount in enumerate(mounts):
        if any(mount.at == other.at for other in mounts[:nth]):
            raise ValueError(f"Duplicate mount point: '{mount.name}'")
    return mounts


def _ensure_directory(directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory.resolve())


def _below(directory: str, path: str) -> str | None:
    """Returns the rest of a path below a directory."""
    return path[len(directory) :].lstrip("/") if is_within(path, directory) else None


def _joined(directory: str, rest: str) -> str:
    return f"{directory.rstrip('/')}/{rest}" if rest else directory


def _mount_point(name: str) -> str:
    mount_point = posixpath.normpath(f"/{name}".replace("//", "/"))
    if mount_point == "/" or "\0" in name:
        raise ValueError(f"invalid path name {name!r}: use one like 'input'")
    return mount_point


Asks = Literal["nowhere", "everywhere", "as_configured"]
"""Which calls require approval."""


def native_config(mounts: list[MountedDirectory], asks: Asks) -> str:
    """Returns the configuration for the native module, as JSON."""
    what: dict[str, object] = {"mounts": [_native_mount(mount, asks) for mount in mounts]} if mounts else {"paths": {}}
    return json.dumps({"base": "/", **what})


def _native_mount(mount: MountedDirectory, asks: Asks) -> dict[str, object]:
    config, always = mount.config, asks == "everywhere"
    return {
        "host_path": mount.host,
        "mount_point": mount.at,
        "mode": config.mode,
        "suffixes": config.suffixes,
        "max_file_bytes": config.max_file_bytes,
        "write_approval": always or (asks == "as_configured" and config.write_approval),
        "read_approval": always or (asks == "as_configured" and config.read_approval),
    }


def normalize(path: str) -> str | None:
    """Normalizes a virtual path: it starts with `/`, and has no `.`, `..` or `//`. Returns `None` if it is invalid."""
    if "\0" in path:
        return None
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return "/" + "/".join(names)


def is_within(path: str, directory: str) -> bool:
    """Whether a path is a directory or below it."""
    return directory == "/" or path == directory or path.startswith(f"{directory}/")


def mount_containing(mounts: list[MountedDirectory], path: str) -> MountedDirectory | None:
    """Returns the innermost directory that contains a path."""
    around = [mount for mount in mounts if is_within(path, mount.at)]
    return max(around, key=lambda mount: len(mount.at), default=None)
