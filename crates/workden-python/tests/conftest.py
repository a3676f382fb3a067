"""What all tests share: which of them need a daemon, and whether there is one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

_USUAL = "unix:///var/run/docker.sock"


def _no_daemon() -> str | None:
    """Why containers cannot be tested here, if they cannot."""
    host = os.environ.get("DOCKER_HOST") or _USUAL
    if not host.startswith("unix://"):
        return None
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(host.removeprefix("unix://"))
    except OSError as error:
        return f"nobody answers at {host}: {error}"
    return None


# After what `-m` and `-k` say: what they leave out needs nothing.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needing = sum(item.get_closest_marker("docker") is not None for item in items)
    why = _no_daemon() if needing else None
    if why is not None:
        # Skipped, they would look as if they had passed.
        raise pytest.UsageError(
            f"{needing} of these tests need a Docker daemon, and {why}\n"
            'hint: cargo xtask docker -- cargo xtask python; without containers: -m "not docker"'
        )


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
