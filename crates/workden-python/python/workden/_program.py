"""Where the program `workden` is, which commands run under."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_CARRIED = Path(__file__).parent / "_bin"


def program() -> str | None:
    """The one that came with the package, or one on the search path. `WORKDEN_PROGRAM` names another."""
    named = os.environ.get("WORKDEN_PROGRAM")
    if named:
        return named
    carried = _CARRIED / "workden"
    return str(carried) if carried.exists() else shutil.which("workden")


def container_keepers() -> str | None:
    """The directory of the keepers for containers, one for each architecture. `WORKDEN_KEEPERS` names another."""
    named = os.environ.get("WORKDEN_KEEPERS")
    if named:
        return named
    return str(_CARRIED) if any(_CARRIED.glob("workden-keeper-*")) else None
