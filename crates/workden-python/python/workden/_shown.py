"""What sandboxes are told of the host, in the words of the native half."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Union

T = TypeVar("T")

Volumes = Mapping[Union[str, "os.PathLike[str]"], str]
"""Paths of the host, and where they are in the sandbox: `{"/srv/data": "/data:ro"}`."""


def shown(source: str | os.PathLike[str], at: str) -> dict[str, str]:
    """A directory or file of the host at a path of the sandbox, which ends in `:ro` if it is only to be read."""
    path, mark, how = at.rpartition(":")
    if mark and how in ("ro", "rw"):
        access = "read_only" if how == "ro" else "read_write"
        return {"source": os.fspath(source), "at": path, "access": access}
    return {"source": os.fspath(source), "at": at, "access": "read_write"}


def mounts(volumes: Volumes | None) -> list[dict[str, str]]:
    """Directories and files of the host; those that are not there are made, as directories."""
    made: list[dict[str, str]] = []
    for source, at in (volumes or {}).items():
        host = os.path.abspath(os.path.expanduser(source))
        if not os.path.lexists(host):
            os.makedirs(host)
        made.append(shown(host, at))
    return made


def listed(name: str, entries: Iterable[T]) -> list[T]:
    """A list of what was given; not one of the letters of a text, which would protect, or open, something else."""
    if isinstance(entries, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is a list, and not {entries!r}: write [{entries!r}]")
    return list(entries)


def said(**wanted: Any) -> str:
    """JSON of what was said; what was not is left to the native half."""
    return json.dumps({name: value for name, value in wanted.items() if value is not None})
