"""The first backend that runs commands on the host says so, once per process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, logging, sys, threading
from pathlib import Path
from workden import CompositeBackend, FilesystemBackend, LocalBackend, LocalSandbox, StateBackend

logged = []
class Keep(logging.Handler):
    def emit(self, record):
        logged.append((record.name, record.levelname, record.getMessage()))
logging.getLogger().addHandler(Keep())
root = Path(sys.argv[1])
{}
print(json.dumps(logged))
"""


def logged(root: Path, code: str) -> list[list[str]]:
    """Returns what a new process logs that runs this code."""
    program = [sys.executable, "-c", PROGRAM.format(code), str(root)]
    return json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize(
    "code",
    [
        "LocalBackend(root)",
        "LocalBackend(root); LocalBackend(root / 'other').execute('true'); LocalBackend(root)",
        "LocalSandbox(root)",
        "from workden import ConsoleCapability; ConsoleCapability(backend=root)",
        "LocalBackend(root, permissions='default')",
        "LocalBackend(root, permissions={'default': 'deny', 'execute': {'default': 'deny', "
        "'rules': [{'pattern': 'git *', 'action': 'allow'}]}})",
        "made = [threading.Thread(target=LocalBackend, args=(root,)) for _ in range(20)]\n"
        "[one.start() for one in made]\n[one.join() for one in made]",
    ],
)
def test_commands_on_the_host_are_said_once(tmp_path: Path, code: str) -> None:
    [(name, level, message)] = logged(tmp_path, code)
    assert (name, level) == ("workden", "WARNING")
    assert "commands on the host" in message
    assert 'isolation="linux"' in message and "enable_execute=False" in message


SILENT = [
    "LocalBackend(root, enable_execute=False)",
    "LocalBackend(root, isolation='linux')",
    "LocalBackend(root, permissions='readonly')",
    "CompositeBackend(StateBackend(), {'/data': FilesystemBackend(root)})",
]


@pytest.mark.parametrize("code", SILENT)
def test_nothing_is_said_where_no_command_can_run_on_the_host(tmp_path: Path, code: str) -> None:
    assert logged(tmp_path, code) == []
    # And the notice is not used up.
    assert len(logged(tmp_path, f"{code}; LocalBackend(root)")) == 1


def test_without_handlers_it_is_a_line_on_standard_error(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import sys; from workden import LocalBackend; LocalBackend(sys.argv[1])", str(tmp_path)]
    said = subprocess.run(program, check=True, capture_output=True, text=True)
    assert said.stdout == "" and len(said.stderr.splitlines()) == 1 and "commands on the host" in said.stderr
