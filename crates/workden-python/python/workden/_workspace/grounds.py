"""Where a workspace comes from: made anew under an id, or found again by it."""

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

from workden._native import Place

if TYPE_CHECKING:
    from workden.backends.docker.sandbox import DockerSandbox
    from workden.backends.linux import LinuxSandbox
    from workden.backends.state import StateBackend

Opened = tuple[Any, Place]
"""A backend, which is not to be let go of, and where it works."""

_RANDOM = re.compile(r"[0-9a-f]{16}")
_PREFIX = "workden-"


class Ground(Protocol):
    """One kind of environment. Nothing is started before somebody starts what it returns."""

    provider: str

    def new_id(self) -> str:
        """An id for an environment that is not there yet."""
        ...

    def make(self, id: str) -> Opened:
        """An environment of this id."""
        ...

    def find(self, id: str) -> Opened:
        """The environment of this id."""
        ...

    def is_own(self, id: str) -> bool:
        """Whether this id can be one that was made here. An id may come from a model's messages."""
        ...


class LinuxGround:
    """Sandboxes with a lease: each has a directory of its own, below one that belongs to this user alone."""

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
        return like, Place.linux(json.dumps({**json.loads(like._wanted), "lease": lease}), like._asks)

    def find(self, id: str) -> Opened:
        like = self._sandbox()
        wanted = {"directory": self._directory(id), "work_dir": like.work_dir, "held": _held(like)}
        return like, Place.linux_attach(json.dumps(wanted), like._asks)

    def _sandbox(self) -> LinuxSandbox:
        # Never started: what it would be is what is wanted.
        from workden.backends.linux import LinuxSandbox

        return LinuxSandbox(**self._options)

    def is_own(self, id: str) -> bool:
        return _RANDOM.fullmatch(id) is not None

    def _directory(self, id: str) -> str:
        if not self.is_own(id):
            raise WorkspaceUnavailableError(f"there is no sandbox `{id}`")
        return str(private_directory(self._leases) / id)


class DockerGround:
    """Containers, by their names."""

    provider = "workden-docker"

    def __init__(self, options: Mapping[str, Any], ttl: float) -> None:
        self._options = dict(options)
        self._name = self._options.pop("container_name", None)
        self._ttl = ttl

    def new_id(self) -> str:
        return self._name or f"{_PREFIX}{secrets.token_hex(8)}"

    def make(self, id: str) -> Opened:
        like = self._sandbox()
        # Whoever ends a workspace is done with it, although it has a name.
        wanted = {**json.loads(like._wanted), "container_name": id, "keep": False, "lease": self._ttl}
        return like, Place.docker(json.dumps(wanted), like._asks)

    def find(self, id: str) -> Opened:
        like = self._sandbox()
        wanted = {"daemon": json.loads(like._wanted)["daemon"], "container": id, "held": _held(like)}
        return like, Place.docker_attach(json.dumps(wanted), like._asks)

    def _sandbox(self) -> DockerSandbox:
        from workden.backends.docker.sandbox import DockerSandbox

        return DockerSandbox(**self._options)

    def is_own(self, id: str) -> bool:
        # Other containers of the machine are nobody's workspace.
        is_made_here = id.startswith(_PREFIX) and _RANDOM.fullmatch(id[len(_PREFIX) :]) is not None
        return is_made_here or id == self._name


class StateGround:
    """Files in memory, as long as somebody holds them."""

    provider = "workden-state"

    _known: weakref.WeakValueDictionary[str, StateBackend] = weakref.WeakValueDictionary()

    def __init__(self, state: StateBackend | None) -> None:
        self._state = state

    def new_id(self) -> str:
        # The same files have the same id, whoever asks.
        known = (id for id, state in self._known.items() if state is self._state)
        return next(known, secrets.token_hex(8))

    def make(self, id: str) -> Opened:
        if self._state is None:
            from workden.backends.state import StateBackend

            self._state = StateBackend()
        self._known[id] = self._state
        return self._state, self._state._place

    def find(self, id: str) -> Opened:
        state = self._known.get(id)
        if state is None:
            raise WorkspaceUnavailableError(f"the files of `{id}` are gone: nobody in this process holds them")
        return state, state._place

    def is_own(self, id: str) -> bool:
        return self._state is not None and self._known.get(id) is self._state


def _held(like: LinuxSandbox | DockerSandbox) -> dict[str, Any]:
    """What holds in an environment besides its walls, for whoever finds it again: rules, and names that stay."""
    wanted = json.loads(like._wanted)
    shown = [*wanted.get("mounts", ()), *wanted.get("volumes", ())]
    if wanted.get("directory") is not None:
        shown.append({"source": wanted["directory"], "at": like.work_dir, "access": "read_write"})
    # Where there are no namespaces, nothing is known by such names.
    git_files = "writable" if wanted.get("level") == "landlock" else wanted.get("git_files")
    held = {"rules": wanted.get("rules"), "git_files": git_files, "shown": shown}
    return {name: value for name, value in held.items() if value is not None}


def private_directory(named: str | os.PathLike[str] | None) -> Path:
    """A directory for this user alone, made if it is not there."""
    run = os.environ.get("XDG_RUNTIME_DIR")
    usual = Path(run) / "workden" if run else Path(tempfile.gettempdir()) / f"workden-{os.getuid()}"
    directory = Path(named).absolute() if named is not None else usual
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    seen = directory.lstat()
    # Whoever may enter it may come into the sandboxes.
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o077:
        raise PermissionError(f"`{directory}` is not a directory of this user alone: make it one, or name another")
    return directory
