"""Providers of environments: create one under an id, or attach to it by id."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_ai.workspaces import WorkspaceUnavailableError

from workden._native import NativeWorkspace

if TYPE_CHECKING:
    from workden.backends.docker.sandbox import DockerSandbox
    from workden.backends.linux import LinuxSandbox
    from workden.backends.state import StateBackend

Opened = tuple[Any, NativeWorkspace]
"""A backend, to be kept alive, and its native workspace."""

_RANDOM = re.compile(r"[0-9a-f]{16}")
_PREFIX = "workden-"


class Provider(Protocol):
    """Creates one kind of environment. The workspaces it returns are not started yet."""

    provider: str

    def new_id(self) -> str:
        """Returns an id for a new environment."""
        ...

    def make(self, id: str) -> Opened:
        """Creates the environment with this id."""
        ...

    def find(self, id: str) -> Opened:
        """Attaches to the environment with this id."""
        ...

    def is_own(self, id: str) -> bool:
        """Whether this provider could have issued the id, which may come from a model's messages."""
        ...


class LinuxProvider:
    """Linux sandboxes with a lease, each in a directory that only this user can access."""

    provider = "workden-linux"

    def __init__(self, options: Mapping[str, Any], ttl: float, leases: str | os.PathLike[str] | None) -> None:
        self._options = dict(options)
        self._ttl = ttl
        self._leases = leases

    def new_id(self) -> str:
        return secrets.token_hex(8)

    def make(self, id: str) -> Opened:
        like = self._sandbox()
        lease = {"directory": self._directory(id), "ttl": self._ttl}
        return like, NativeWorkspace.linux(json.dumps({**json.loads(like._config), "lease": lease}), like._asks)

    def find(self, id: str) -> Opened:
        like = self._sandbox()
        config = {"directory": self._directory(id), "work_dir": like.work_dir, "held": _held(like)}
        return like, NativeWorkspace.linux_attach(json.dumps(config), like._asks)

    def _sandbox(self) -> LinuxSandbox:
        # Never started: it only provides the options.
        from workden.backends.linux import LinuxSandbox

        return LinuxSandbox(**self._options)

    def is_own(self, id: str) -> bool:
        return _RANDOM.fullmatch(id) is not None

    def _directory(self, id: str) -> str:
        if not self.is_own(id):
            raise WorkspaceUnavailableError(f"sandbox `{id}` not found")
        return str(private_directory(self._leases) / id)


class DockerProvider:
    """Containers, identified by name."""

    provider = "workden-docker"

    def __init__(self, options: Mapping[str, Any], ttl: float) -> None:
        self._options = dict(options)
        self._name = self._options.pop("container_name", None)
        self._ttl = ttl

    def new_id(self) -> str:
        return self._name or f"{_PREFIX}{secrets.token_hex(8)}"

    def make(self, id: str) -> Opened:
        like = self._sandbox()
        # Ending a workspace removes its container, although the container has a name.
        config = {**json.loads(like._config), "container_name": id, "keep": False, "lease": self._ttl}
        return like, NativeWorkspace.docker(json.dumps(config), like._asks)

    def find(self, id: str) -> Opened:
        like = self._sandbox()
        config = {"daemon": json.loads(like._config)["daemon"], "container": id, "held": _held(like)}
        return like, NativeWorkspace.docker_attach(json.dumps(config), like._asks)

    def _sandbox(self) -> DockerSandbox:
        from workden.backends.docker.sandbox import DockerSandbox

        return DockerSandbox(**self._options)

    def is_own(self, id: str) -> bool:
        # Other containers on the machine are not workspaces.
        is_made_here = id.startswith(_PREFIX) and _RANDOM.fullmatch(id[len(_PREFIX) :]) is not None
        return is_made_here or id == self._name


class StateProvider:
    """Files in memory, as long as this process references them."""

    provider = "workden-state"

    _known: weakref.WeakValueDictionary[str, StateBackend] = weakref.WeakValueDictionary()

    def __init__(self, state: StateBackend | None) -> None:
        self._state = state

    def new_id(self) -> str:
        # The same files always have the same id.
        known = (id for id, state in self._known.items() if state is self._state)
        return next(known, secrets.token_hex(8))

    def make(self, id: str) -> Opened:
        if self._state is None:
            from workden.backends.state import StateBackend

            self._state = StateBackend()
        self._known[id] = self._state
        return self._state, self._state._native

    def find(self, id: str) -> Opened:
        state = self._known.get(id)
        if state is None:
            raise WorkspaceUnavailableError(f"workspace `{id}` not found: this process no longer references its files")
        return state, state._native

    def is_own(self, id: str) -> bool:
        return self._state is not None and self._known.get(id) is self._state


def _held(like: LinuxSandbox | DockerSandbox) -> dict[str, Any]:
    """Returns the parts of the policy that an attaching client enforces itself: rules, and protected names."""
    config = json.loads(like._config)
    shown = [*config.get("mounts", ()), *config.get("volumes", ())]
    if config.get("directory") is not None:
        shown.append({"source": config["directory"], "at": like.work_dir, "access": "read_write"})
    held = {"rules": config.get("rules"), "git_files": config.get("git_files"), "shown": shown}
    return {name: value for name, value in held.items() if value is not None}


def private_directory(named: str | os.PathLike[str] | None) -> Path:
    """Returns a directory that only this user can access, created if it is missing."""
    run = os.environ.get("XDG_RUNTIME_DIR")
    usual = Path(run) / "workden" if run else Path(tempfile.gettempdir()) / f"workden-{os.getuid()}"
    directory = Path(named).absolute() if named is not None else usual
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    seen = directory.lstat()
    # Access to the directory gives access to the sandboxes.
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
        why = "must be a directory that only this user can access: run `chmod 700` on it, or choose another"
        raise PermissionError(f"`{directory}` {why}")
    return directory
