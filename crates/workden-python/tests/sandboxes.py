"""Sandboxes over the directories of the fixture `host`, one of each kind of configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workden.filesystem import Mount, PathConfig, RootSandboxConfig, Sandbox, SandboxConfig


def named(host: Path, **limits: Any) -> Sandbox:
    paths = {"input": PathConfig(root="in"), "output": PathConfig(root="out", mode="rw", **limits)}
    return Sandbox(SandboxConfig(paths=paths), base_path=host)


def rooted(host: Path, **limits: Any) -> Sandbox:
    return Sandbox(SandboxConfig(root=RootSandboxConfig(root=host / "out", **limits)))


def mounts(host: Path) -> Sandbox:
    data = Mount(host_path=host / "data", mount_point="/data", mode="rw")
    special = Mount(host_path=host / "special", mount_point="/data/special")
    (host / "data/special").mkdir(parents=True)
    (host / "data/special/shadowed.md").write_text("shadowed")
    (host / "special").mkdir()
    (host / "special/f.md").write_text("special")
    return Sandbox(SandboxConfig(mounts=[data, special]))
