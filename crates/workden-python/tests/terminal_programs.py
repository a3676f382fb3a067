"""Runs programs at pseudo-terminals, as forks of one process that has imported Pydantic AI.

The import takes seconds of processor time, and each program would repeat it.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SERVER = """
import json, os, sys
import scripted, workden.approval, workden.toolsets.console, workden.workspace
from workden.backends.local import LocalBackend

requests, answers = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w")
for line in requests:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
else:
    os._exit(0)
# A new session, whose controlling terminal is the first that it opens, so that Ctrl-C is a signal.
os.setsid()
terminal = os.open(request["terminal"], os.O_RDWR)
for standard in range(3):
    os.dup2(terminal, standard)
sys.argv[1:] = request["arguments"]
print("started", os.getpid(), file=answers, flush=True)
exec(compile(request["code"], "<program>", "exec"), {"__name__": "__main__"})
"""


class Program:
    """A running program."""

    def __init__(self, terminal: int, pid: int, answers: Iterator[str]) -> None:
        self.terminal = terminal
        """The other end of its terminal."""
        self._pid, self._answers = pid, answers
        self._code: int | None = None

    def rest(self) -> bytes:
        """Returns its output from here to its end."""
        shown = b""
        # A terminal whose program has ended raises an error.
        with suppress(OSError):
            while part := os.read(self.terminal, 65536):
                shown += part
        return shown

    def wait(self) -> int:
        """Returns its exit code."""
        if self._code is None:
            self._code = int(next(self._answers).removeprefix("ended "))
        return self._code

    def end(self) -> None:
        """Kills it, if it is still running."""
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            self.wait()


class TerminalPrograms:
    """The process that forks the programs, one at a time."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        requests, self._requests = os.pipe()
        told, answers = os.pipe()
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(requests), str(answers)],
            pass_fds=(requests, answers),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        os.close(requests)
        os.close(answers)
        self._lines = iter(os.fdopen(told))

    @contextmanager
    def start(self, code: str, *arguments: str) -> Iterator[Program]:
        """Starts a program at a new terminal, and kills it at the end of the block."""
        master, slave = pty.openpty()
        request = {"terminal": os.ttyname(slave), "arguments": arguments, "code": code}
        os.write(self._requests, json.dumps(request).encode() + b"\n")
        program: Program | None = None
        try:
            program = Program(master, int(next(self._lines).removeprefix("started ")), self._lines)
            # Only now: a terminal that no process has open is closed.
            os.close(slave)
            yield program
        finally:
            if program is None:
                # It did not start in time. The next one gets another process, and this one a closed terminal.
                os.close(slave)
                self.close()
                self._open()
            else:
                program.end()
            os.close(master)

    def close(self) -> None:
        """Ends the process."""
        os.close(self._requests)
        self._server.kill()
        self._server.wait()
