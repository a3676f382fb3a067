"""Containers, runtimes and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workden.backends.base import BaseSandbox as BaseSandbox
    from workden.backends.docker.runtimes import BUILTIN_RUNTIMES as BUILTIN_RUNTIMES
    from workden.backends.docker.runtimes import get_runtime as get_runtime
    from workden.backends.docker.sandbox import DockerSandbox as DockerSandbox
    from workden.backends.docker.session import SandboxFactory as SandboxFactory
    from workden.backends.docker.session import SessionManager as SessionManager

__all__ = ["BUILTIN_RUNTIMES", "BaseSandbox", "DockerSandbox", "SandboxFactory", "SessionManager", "get_runtime"]

_WHERE = {
    "BUILTIN_RUNTIMES": "workden.backends.docker.runtimes",
    "BaseSandbox": "workden.backends.base",
    "DockerSandbox": "workden.backends.docker.sandbox",
    "SandboxFactory": "workden.backends.docker.session",
    "SessionManager": "workden.backends.docker.session",
    "get_runtime": "workden.backends.docker.runtimes",
}


def __getattr__(name: str) -> object:
    # Runtimes need pydantic, which is loaded on first use.
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
