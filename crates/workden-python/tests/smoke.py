"""Checks an installed package: run by `cargo xtask wheel` in a new environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

MOST_MILLISECONDS = 50
# Processor time: wall-clock time would measure the other programs of the machine.
CLOCK = "import time; begin = time.process_time(); import workden; print((time.process_time() - begin) * 1000)"


def import_milliseconds() -> float:
    said = subprocess.run([sys.executable, "-I", "-c", CLOCK], check=True, capture_output=True, text=True)
    return float(said.stdout)


def main() -> None:
    took = min(import_milliseconds() for _ in range(10))
    assert took < MOST_MILLISECONDS, f"the import takes {took:.1f} ms"

    import workden
    from workden import LocalBackend, StateBackend

    assert workden.__version__ == version("workden")
    with tempfile.TemporaryDirectory() as directory, LocalBackend(root_dir=directory) as backend:
        written = backend.write("src/hello.py", "print(6 * 7)\n")
        assert written.error is None, written
        assert backend.read("src/hello.py").endswith("\tprint(6 * 7)"), backend.read("src/hello.py")
        found = backend.grep_raw("6 .* 7")
        assert isinstance(found, list) and [match["line_number"] for match in found] == [1], found
        ran = backend.execute(f"'{sys.executable}' src/hello.py")
        assert (ran.output, ran.exit_code) == ("42\n", 0), ran

    state = StateBackend()
    state.write("/a.txt", "one\ntwo\n")
    assert state.edit("/a.txt", "two", "three").occurrences == 1
    assert [file["path"] for file in state.glob_info("**/*.txt")] == ["/a.txt"]

    script = Path(sys.executable).with_name("workden")
    said = subprocess.run([script, "--version"], check=True, capture_output=True, text=True).stdout
    assert workden.__version__ in said, said
    print(f"Python {sys.version.split()[0]}: the wheel works; import {took:.1f} ms; {said.strip()}")


if __name__ == "__main__":
    main()
