"""Configuration of a sandbox: named directories, one root directory, or mounts."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

__all__ = ["Mount", "PathConfig", "RootSandboxConfig", "SandboxConfig"]


def _as_text(path: object) -> object:
    return os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path


class PathConfig(BaseModel):
    """A named directory."""

    root: Annotated[str, BeforeValidator(_as_text)] = Field(description="The host directory; created if it is missing")
    mode: Literal["ro", "rw"] = Field(default="ro", description="`ro` for read-only, `rw` for writable")
    suffixes: list[str] | None = Field(
        default=None, description="Allowed suffixes, like `.md`; `None` allows all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="Maximum size of a file in bytes; `None` for no limit")
    write_approval: bool = Field(default=True, description="Whether writing requires approval")
    read_approval: bool = Field(default=False, description="Whether reading requires approval")


class RootSandboxConfig(BaseModel):
    """One directory as the whole sandbox: its paths start with `/`."""

    root: Path = Field(description="The host directory; created if it is missing")
    readonly: bool = Field(default=False, description="Whether it is read-only")
    suffixes: list[str] | None = Field(
        default=None, description="Allowed suffixes, like `.md`; `None` allows all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="Maximum size of a file in bytes; `None` for no limit")


class Mount(BaseModel):
    """A directory at a mount point."""

    host_path: Path = Field(description="The host directory; created if it is missing")
    mount_point: str = Field(description="The virtual path, like `/docs`")
    mode: Literal["ro", "rw"] = Field(default="ro", description="`ro` for read-only, `rw` for writable")
    suffixes: list[str] | None = Field(
        default=None, description="Allowed suffixes, like `.md`; `None` allows all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="Maximum size of a file in bytes; `None` for no limit")
    write_approval: bool = Field(default=True, description="Whether writing requires approval")
    read_approval: bool = Field(default=False, description="Whether reading requires approval")

    @field_validator("mount_point")
    @classmethod
    def _normal(cls, written: str) -> str:
        mount_point = written.replace("\\", "/").strip() or "/"
        if not mount_point.startswith("/"):
            raise ValueError(f"mount_point must start with '/': {written!r}")
        if "\0" in mount_point:
            raise ValueError(f"mount_point must not contain null bytes: {written!r}")
        return posixpath.normpath("/" + mount_point.lstrip("/"))


class SandboxConfig(BaseModel):
    """One of `root`, `paths` and `mounts`. Empty `paths` give a sandbox without any access."""

    root: RootSandboxConfig | None = Field(default=None, description="The root directory")
    paths: dict[str, PathConfig] | None = Field(default=None, description="Directories by name")
    mounts: list[Mount] | None = Field(default=None, description="Directories by mount point")

    @model_validator(mode="after")
    def _is_one_of_them(self) -> SandboxConfig:
        if self.mounts is not None and (self.root is not None or self.paths is not None):
            raise ValueError("SandboxConfig cannot set 'mounts' beside 'root' or 'paths'.")
        if self.mounts is not None and not self.mounts:
            raise ValueError("SandboxConfig requires at least one mount")
        if self.root is not None and self.paths is not None:
            raise ValueError("SandboxConfig cannot set both 'root' and 'paths'.")
        if self.root is None and self.paths is None and self.mounts is None:
            raise ValueError("SandboxConfig requires exactly one of 'root' or 'paths'.")
        return self
