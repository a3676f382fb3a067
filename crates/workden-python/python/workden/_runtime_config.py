"""`RuntimeConfig`: the software in a container. Separate from `types`, because it needs pydantic."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

__all__ = ["RuntimeConfig"]


class RuntimeConfig(BaseModel):
    """A ready image, or a base image with additions.

    ```python
    from workden import RuntimeConfig

    runtime = RuntimeConfig(name="tables", base_image="python:3.12-slim", packages=["pandas>=2", "pyarrow"])
    assert runtime.work_dir == "/workspace"
    ```
    """

    name: str
    """Name of the runtime; part of the name of the built image."""
    description: str = ""
    """Purpose of the runtime."""
    image: str | None = None
    """An image to use unchanged."""
    base_image: str | None = None
    """An image to add packages to."""
    packages: list[str] = Field(default_factory=list)
    """Packages to install, in the syntax of the package manager."""
    package_manager: Literal["pip", "npm", "apt", "cargo"] = "pip"
    """Program that installs the packages."""
    setup_commands: list[str] = Field(default_factory=list)
    """Shell lines to run while the image is built, before packages are installed."""
    env_vars: dict[str, str] = Field(default_factory=dict)
    """Environment variables of every command."""
    work_dir: str = "/workspace"
    """Directory in which commands start and the files of a session live."""
    cache_image: bool = True
    """Whether to reuse an image that was built before."""
    user: str | None = None
    """User that commands run as: `name`, `uid` or `uid:gid`."""
