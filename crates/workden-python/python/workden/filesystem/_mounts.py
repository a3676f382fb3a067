"""The directories of a sandbox: where each is seen, and where it is on the host."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workden.filesystem.config import Mount, PathConfig, SandboxConfig


@dataclass(frozen=True)
class Mounted:
    """One directory of a sandbox."""

    at: str
    """Where it is seen: a path that starts with `/`."""
    name: str
    """What it is called."""
    host: str
    """The directory itself, without links in its path."""
    config: PathConfig | Mount
    """Its limits."""

    def host_path(self, place: str) -> str:
        """Where a path in here is on the host."""
        return _joined(self.host, _below(self.at, place) or "")

    def seen(self, host_path: str) -> str | None:
        """What a path of the host is in here, if it is."""
        rest = _below(self.host, host_path)
        return None if rest is None else _joined(self.at, rest)


def mounted(config: SandboxConfig, base: Path) -> list[Mounted]:
    """The directories of a configuration, in its order. Those that are not there are made."""
    if config.root is not None:
        root = config.root
        limits = PathConfig(
            root=str(root.root),
            mode="ro" if root.readonly else "rw",
            suffixes=root.suffixes,
            max_file_bytes=root.max_file_bytes,
        )
        return [Mounted("/", "/", _made(base / root.root), limits)]
    if config.mounts is not None:
        all = [Mounted(m.mount_point, m.mount_point, _made(base / m.host_path), m) for m in config.mounts]
    else:
        paths = (config.paths or {}).items()
        all = [Mounted(_place_of(name), name, _made(base / path.root), path) for name, path in paths]
    for nth, mount in enumerate(all):
        if any(mount.at == other.at for other in all[:nth]):
            raise ValueError(f"Duplicate mount point: '{mount.name}'")
    return all


def _made(directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory.resolve())


def _below(directory: str, path: str) -> str | None:
    """The rest of a path that is in a directory."""
    return path[len(directory) :].lstrip("/") if is_within(path, directory) else None


def _joined(directory: str, rest: str) -> str:
    return f"{directory.rstrip('/')}/{rest}" if rest else directory


def _place_of(name: str) -> str:
    place = posixpath.normpath(f"/{name}".replace("//", "/"))
    if place == "/" or "\0" in name:
        raise ValueError(f"{name!r} is not a name for a path: use one like 'input'")
    return place


Asks = Literal["nowhere", "everywhere", "as_configured"]
"""Where something has to be approved."""


def wanted(mounts: list[Mounted], asks: Asks) -> str:
    """The same for the native half."""
    what: dict[str, object] = {"mounts": [_one(mount, asks) for mount in mounts]} if mounts else {"paths": {}}
    return json.dumps({"base": "/", **what})


def _one(mount: Mounted, asks: Asks) -> dict[str, object]:
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


def normal(path: str) -> str | None:
    """A path as it is known inside: it starts with `/`, and has no `.`, `..` or `//`. `None`, if it is none."""
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


def is_within(path: str, place: str) -> bool:
    """Whether a path is a place, or below it."""
    return place == "/" or path == place or path.startswith(f"{place}/")


def holding(mounts: list[Mounted], path: str) -> Mounted | None:
    """The directory that a path is in: of several, the innermost."""
    around = [mount for mount in mounts if is_within(path, mount.at)]
    return max(around, key=lambda mount: len(mount.at), default=None)
