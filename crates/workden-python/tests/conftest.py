"""What all tests share: which of them need a daemon, and whether there is one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

_USUAL = "unix:///var/run/docker.sock"


def _daemon() -> str | None:
    """The address of a daemon that takes connections."""
    named = os.environ.get("DOCKER_HOST")
    host = named or _USUAL
    if not host.startswith("unix://"):
        return host
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(host.removeprefix("unix://"))
    except OSError as error:
        if named:
            # Somebody meant these tests to run: that they cannot is not to pass for an answer.
            raise pytest.UsageError(f"DOCKER_HOST is {named}, and nobody is there: {error}") from None
        return None
    return host


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needing = [item for item in items if item.get_closest_marker("docker")]
    if needing and _daemon() is None:
        no_daemon = pytest.mark.skip(reason="no Docker daemon: cargo xtask docker -- cargo xtask python")
        for item in needing:
            item.add_marker(no_daemon)


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
