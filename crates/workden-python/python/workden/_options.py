"""Converts options of sandboxes into the JSON that the native module expects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, Union

T = TypeVar("T")

Volumes = Mapping[Union[str, "os.PathLike[str]"], str]
"""Maps host paths to paths in the sandbox: `{"/srv/data": "/data:ro"}`."""


def mount(source: str | os.PathLike[str], at: str) -> dict[str, str]:
    """Returns the mount of a host path at a sandbox path. The suffix `:ro` makes it read-only."""
    path, mark, how = at.rpartition(":")
    if mark and how in ("ro", "rw"):
        access = "read_only" if how == "ro" else "read_write"
        return {"source": os.fspath(source), "at": path, "access": access}
    return {"source": os.fspath(source), "at": at, "access": "read_write"}


def mounts(volumes: Volumes | None) -> list[dict[str, str]]:
    """Returns the mounts of host paths. Missing ones are created as directories."""
    made: list[dict[str, str]] = []
    for source, at in (volumes or {}).items():
        host = os.path.abspath(os.path.expanduser(source))
        if not os.path.lexists(host):
            os.makedirs(host)
        made.append(mount(host, at))
    return made


def as_list(name: str, entries: Iterable[T]) -> list[T]:
    """Returns the entries as a list. Rejects a string, whose letters would protect, or open, the wrong paths."""
    if isinstance(entries, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} must be a list, not {entries!r}: write [{entries!r}]")
    return list(entries)


def to_json(**config: Any) -> str:
    """Returns the options as JSON without those that are `None`, for which the native module has defaults."""
    return json.dumps({name: value for name, value in config.items() if value is not None})
