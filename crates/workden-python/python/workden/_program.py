"""Finds the program `workden`, which runs commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_CARRIED = Path(__file__).parent / "_bin"


def program() -> str | None:
    """Returns the program in the package, or else the one on `PATH`. `WORKDEN_PROGRAM` overrides both."""
    named = os.environ.get("WORKDEN_PROGRAM")
    if named:
        return named
    carried = _CARRIED / "workden"
    return str(carried) if carried.exists() else shutil.which("workden")


def container_keepers() -> str | None:
    """Returns the directory of the container keepers, one per architecture. `WORKDEN_KEEPERS` overrides it."""
    named = os.environ.get("WORKDEN_KEEPERS")
    if named:
        return named
    return str(_CARRIED) if any(_CARRIED.glob("workden-keeper-*")) else None
