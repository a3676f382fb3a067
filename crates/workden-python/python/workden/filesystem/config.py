"""What a sandbox is to be: named directories, one directory that is everything, or mounts."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

__all__ = ["Mount", "PathConfig", "RootSandboxConfig", "SandboxConfig"]


def _as_text(path: object) -> object:
    return str(path) if isinstance(path, os.PathLike) else path


class PathConfig(BaseModel):
    """A directory under a name."""

    root: Annotated[str, BeforeValidator(_as_text)] = Field(description="The host directory; made if it is not there")
    mode: Literal["ro", "rw"] = Field(default="ro", description="Whether it may be written")
    suffixes: list[str] | None = Field(
        default=None, description="The only endings that files may have, like `.md`; `None` for all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="The largest file, in bytes; `None` for any")
    write_approval: bool = Field(default=True, description="Whether somebody has to approve writing")
    read_approval: bool = Field(default=False, description="Whether somebody has to approve reading")


class RootSandboxConfig(BaseModel):
    """One directory that is the whole sandbox: paths in it start with `/`."""

    root: Path = Field(description="The host directory; made if it is not there")
    readonly: bool = Field(default=False, description="Whether it may only be read")
    suffixes: list[str] | None = Field(
        default=None, description="The only endings that files may have, like `.md`; `None` for all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="The largest file, in bytes; `None` for any")


class Mount(BaseModel):
    """A directory at a place of its own."""

    host_path: Path = Field(description="The host directory; made if it is not there")
    mount_point: str = Field(description="Where it is seen, like `/docs`")
    mode: Literal["ro", "rw"] = Field(default="ro", description="Whether it may be written")
    suffixes: list[str] | None = Field(
        default=None, description="The only endings that files may have, like `.md`; `None` for all"
    )
    max_file_bytes: int | None = Field(default=None, ge=0, description="The largest file, in bytes; `None` for any")
    write_approval: bool = Field(default=True, description="Whether somebody has to approve writing")
    read_approval: bool = Field(default=False, description="Whether somebody has to approve reading")

    @field_validator("mount_point")
    @classmethod
    def _normal(cls, written: str) -> str:
        place = written.replace("\\", "/").strip() or "/"
        if not place.startswith("/"):
            raise ValueError(f"mount_point must start with '/': {written!r}")
        if "\0" in place:
            raise ValueError(f"mount_point must not contain null bytes: {written!r}")
        return posixpath.normpath("/" + place.lstrip("/"))


class SandboxConfig(BaseModel):
    """One of `root`, `paths` and `mounts`. No `paths` at all is a sandbox without any access."""

    root: RootSandboxConfig | None = Field(default=None, description="The one directory")
    paths: dict[str, PathConfig] | None = Field(default=None, description="Directories by name")
    mounts: list[Mount] | None = Field(default=None, description="Directories at places of their own")

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
