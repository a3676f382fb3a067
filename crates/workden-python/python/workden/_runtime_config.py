"""`RuntimeConfig`: what a container has installed. In a module of its own, since it needs pydantic."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

__all__ = ["RuntimeConfig"]


class RuntimeConfig(BaseModel):
    """A ready image, or a base image and what is added to it.

    ```python
    from workden import RuntimeConfig

    runtime = RuntimeConfig(name="tables", base_image="python:3.12-slim", packages=["pandas>=2", "pyarrow"])
    assert runtime.work_dir == "/workspace"
    ```
    """

    name: str
    """What it is called; part of the name of the image that is built."""
    description: str = ""
    """What it is for."""
    image: str | None = None
    """An image that is used as it is."""
    base_image: str | None = None
    """An image that the rest is added to."""
    packages: list[str] = Field(default_factory=list)
    """What is installed, as the package manager understands it."""
    package_manager: Literal["pip", "npm", "apt", "cargo"] = "pip"
    """Who installs it."""
    setup_commands: list[str] = Field(default_factory=list)
    """Shell lines that run while the image is built, before the packages are installed."""
    env_vars: dict[str, str] = Field(default_factory=dict)
    """Variables of every command."""
    work_dir: str = "/workspace"
    """Where commands start, and where the files of a session are."""
    cache_image: bool = True
    """Whether an image that was built before is used again."""
    user: str | None = None
    """Who commands run as in the image: `name`, `uid` or `uid:gid`."""
