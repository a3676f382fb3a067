"""Shared fixtures, and a check that tests with containers have a daemon."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from workden.backends.local import LocalBackend

from terminal_programs import TerminalPrograms

_USUAL = "unix:///var/run/docker.sock"


def _no_daemon() -> str | None:
    """Returns why containers cannot be tested here, or `None`."""
    host = os.environ.get("DOCKER_HOST") or _USUAL
    if not host.startswith("unix://"):
        return None
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(host.removeprefix("unix://"))
    except OSError as error:
        return f"no daemon answers at {host}: {error}"
    return None


def pytest_configure() -> None:
    # A shell makes its background jobs ignore Ctrl-C, which some tests need.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# After `-m` and `-k`: tests that they deselect need no daemon and no cluster.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_clusters(config, items)
    needing = sum(item.get_closest_marker("docker") is not None for item in items)
    why = _no_daemon() if needing else None
    if why is not None:
        # Skipped tests would look as if they had passed.
        raise pytest.UsageError(
            f"{needing} of these tests need a Docker daemon, and {why}\n"
            'hint: cargo xtask docker -- cargo xtask python; without containers: -m "not docker"'
        )


def _leave_out_clusters(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests that need a cluster when none is named. With a cluster, and by name, they must run."""
    needing = [item for item in items if item.get_closest_marker("kubernetes") is not None]
    if not needing or os.environ.get("WORKDEN_TEST_KUBECONFIG"):
        return
    if len(needing) == len(items):
        raise pytest.UsageError(
            f"{len(needing)} tests need a cluster, and WORKDEN_TEST_KUBECONFIG is not set\n"
            "hint: cargo xtask kubernetes -- cargo xtask python -- -m kubernetes"
        )
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in needing]


@pytest.fixture(scope="session")
def terminal_programs() -> Iterator[TerminalPrograms]:
    """Runs programs at terminals."""
    programs = TerminalPrograms()
    yield programs
    programs.close()


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def local(tmp_path: Path) -> LocalBackend:
    """A backend over an empty directory."""
    return LocalBackend(root_dir=tmp_path)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """`in` and `out` with a file each, and a file beside them."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out/reports").mkdir(parents=True)
    (tmp_path / "in/a.md").write_text("of the input")
    (tmp_path / "out/b.md").write_text("of the output")
    (tmp_path / "out/reports/c.md").write_text("a report")
    (tmp_path / "secret.md").write_text("secret")
    return tmp_path
