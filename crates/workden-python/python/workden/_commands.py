"""The command half of a sandbox over a native place, in the words of pydantic-ai-backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from workden import _said
from workden._native import Failure
from workden._steps import Steps, awaited, is_native, waits
from workden.types import BackgroundHandle, BackgroundOutput, BackgroundProcessInfo, ExecuteResponse

if TYPE_CHECKING:
    from workden._native import Place

_TIMED_OUT = "Error: Command timed out"


class PlaceCommands:
    """Commands of a place. A class that uses this calls `_commands_begin` when it is made."""

    _place: Place
    _heard: dict[str, int]

    def _commands_begin(self) -> None:
        """Nothing has been heard of any background command yet."""
        self._heard = {}

    def _refused(self, failure: Failure) -> None:
        """Raises what this backend raises for a refusal, if it raises anything."""

    @waits
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a line in a shell to its end, or until `timeout` seconds (120, if nothing is said) are over.

        Output of both streams, in the order it came. What was printed before a timeout is kept.
        """
        try:
            output, code, is_cut, is_over = yield "execute", (command, timeout)
        except Failure as failure:
            self._refused(failure)
            return ExecuteResponse(output=f"Error: {_said.of_command(failure)}", exit_code=1)
        if is_over:
            gap = "\n" if output and not output.endswith("\n") else ""
            output = f"{output}{gap}{_TIMED_OUT}"
        return ExecuteResponse(output=output, exit_code=code, truncated=is_cut)

    async def async_execute(self, command: str, timeout: float | None = None) -> ExecuteResponse:
        """The same, awaited. Cancelling it ends the command, with all that it started."""
        if is_native(self, "execute"):
            return await awaited(self, "execute", command, timeout)
        from workden._await import in_thread

        # A subclass has its own, and may have it to keep commands from running.
        return await in_thread(self.execute, command, timeout)

    @waits
    def execute_background(self, command: str) -> Steps[BackgroundHandle]:
        """Starts a command, and does not wait for it. It ends with the sandbox at the latest."""
        try:
            shell_id, pid, _, _, _ = yield "start_job", (command,)
        except Failure as failure:
            self._refused(failure)
            if failure.refusal is None:
                raise RuntimeError(_said.of_command(failure)) from None
            raise PermissionError(_said.of_command(failure)) from None
        return BackgroundHandle(shell_id=shell_id, pid=pid, command=command)

    @waits
    def read_background(self, shell_id: str) -> Steps[BackgroundOutput]:
        """What a command in the background has printed since the last time. Both streams are one, `stdout`."""
        try:
            text, heard, job = yield "read_job", (shell_id, self._heard.get(shell_id, 0))
        except Failure:
            unknown = f"No such background shell: {shell_id}"
            return BackgroundOutput(shell_id=shell_id, stdout="", stderr=unknown, running=False)
        self._heard[shell_id] = heard
        return BackgroundOutput(shell_id=shell_id, stdout=text, stderr="", running=job[3], exit_code=job[4])

    @waits
    def kill_background(self, shell_id: str) -> Steps[bool]:
        """Ends a command in the background, with all that it started. Whether it was running."""
        try:
            return (yield "kill_job", (shell_id,))
        except Failure:
            return False

    @waits
    def list_background(self) -> Steps[list[BackgroundProcessInfo]]:
        """All commands that were started in the background."""
        try:
            jobs = yield "jobs", ()
        except Failure:
            return []
        return [BackgroundProcessInfo(id, command, pid, running, code) for id, pid, command, running, code in jobs]

    @waits
    def kill_all_background(self) -> Steps[None]:
        """Ends all commands in the background."""
        listing = cast("Any", PlaceCommands.list_background).steps(self)
        for job in (yield from cast("Steps[list[BackgroundProcessInfo]]", listing)):
            if job.running:
                yield "kill_job", (job.shell_id,)
