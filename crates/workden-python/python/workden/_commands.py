"""Commands of a sandbox over a native workspace, with the signatures of pydantic-ai-backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from workden import _messages
from workden._dual import Steps, dual_method, is_native, run_async
from workden._native import Failure
from workden.types import BackgroundHandle, BackgroundOutput, BackgroundProcessInfo, ExecuteResponse

if TYPE_CHECKING:
    from workden._native import NativeWorkspace

_TIMED_OUT = "Error: Command timed out"


class NativeCommands:
    """Commands of a native workspace. Subclasses call `_reset_background` in `__init__`."""

    _native: NativeWorkspace
    _read_offsets: dict[str, int]

    def _reset_background(self) -> None:
        """Forgets how much of each background command's output was read."""
        self._read_offsets = {}

    def _refused(self, failure: Failure) -> None:
        """Raises this backend's exception for a refusal, if it has one."""

    def _shortened(self, output: str) -> Steps[tuple[str, bool]]:
        """Returns what to answer for an output of which the middle was left out, and whether it still is."""
        yield from ()
        return output, True

    @dual_method
    def execute(self, command: str, timeout: float | None = None) -> Steps[ExecuteResponse]:
        """Runs a shell command until it exits, or for `timeout` seconds (default: 120).

        The output contains both streams in the order they were written. On a timeout the output so far is kept.
        """
        try:
            output, code, is_cut, is_over = yield "execute", (command, timeout)
        except Failure as failure:
            self._refused(failure)
            return ExecuteResponse(output=f"Error: {_messages.command_error(failure)}", exit_code=1)
        if is_cut:
            output, is_cut = yield from self._shortened(output)
        if is_over:
            gap = "\n" if output and not output.endswith("\n") else ""
            output = f"{output}{gap}{_TIMED_OUT}"
        return ExecuteResponse(output=output, exit_code=code, truncated=is_cut)

    async def async_execute(self, command: str, timeout: float | None = None) -> ExecuteResponse:
        """Async version of `execute`. Cancelling it kills the command and its children."""
        if is_native(self, "execute"):
            return await run_async(self, "execute", command, timeout)
        from workden._event_loop import in_thread

        # A subclass may override `execute`, for example to block commands.
        return await in_thread(self.execute, command, timeout)

    @dual_method
    def execute_background(self, command: str) -> Steps[BackgroundHandle]:
        """Starts a command without waiting for it. It is killed when the sandbox ends."""
        try:
            shell_id, pid, _, _, _ = yield "start_job", (command,)
        except Failure as failure:
            self._refused(failure)
            if failure.refusal is None:
                raise RuntimeError(_messages.command_error(failure)) from None
            raise PermissionError(_messages.command_error(failure)) from None
        return BackgroundHandle(shell_id=shell_id, pid=pid, command=command)

    @dual_method
    def read_background(self, shell_id: str) -> Steps[BackgroundOutput]:
        """Returns the output of a background command since the last call. `stdout` contains both streams."""
        try:
            text, heard, job = yield "read_job", (shell_id, self._read_offsets.get(shell_id, 0))
        except Failure:
            unknown = f"No such background shell: {shell_id}"
            return BackgroundOutput(shell_id=shell_id, stdout="", stderr=unknown, running=False)
        self._read_offsets[shell_id] = heard
        return BackgroundOutput(shell_id=shell_id, stdout=text, stderr="", running=job[3], exit_code=job[4])

    @dual_method
    def kill_background(self, shell_id: str) -> Steps[bool]:
        """Kills a background command and its children. Returns whether it was running."""
        try:
            return (yield "kill_job", (shell_id,))
        except Failure:
            return False

    @dual_method
    def list_background(self) -> Steps[list[BackgroundProcessInfo]]:
        """Lists the commands that were started in the background."""
        try:
            jobs = yield "jobs", ()
        except Failure:
            return []
        return [BackgroundProcessInfo(id, command, pid, running, code) for id, pid, command, running, code in jobs]

    @dual_method
    def kill_all_background(self) -> Steps[None]:
        """Kills all background commands."""
        listing = cast("Any", NativeCommands.list_background).steps(self)
        for job in (yield from cast("Steps[list[BackgroundProcessInfo]]", listing)):
            if job.running:
                yield "kill_job", (job.shell_id,)
