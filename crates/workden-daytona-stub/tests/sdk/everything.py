"""The official SDK against the stub: what it does with each answer is the proof that the answer is right.

It is configured by the variables that the SDK documents. Each finished part prints its name.
"""

import asyncio
import json
import time
import warnings

# The variable that keeps the SDK from a second channel for states is deprecated, and documented.
warnings.filterwarnings("ignore", message="Polling-only mode")

from daytona import (
    CreateSandboxFromImageParams,
    CreateSandboxFromSnapshotParams,
    Daytona,
    DaytonaConfig,
    DaytonaNotFoundError,
    FileDownloadRequest,
    FileUpload,
    ListSandboxesQuery,
    Resources,
    SessionExecuteRequest,
)
from daytona.common.errors import DaytonaError
from daytona.common.pty import PtySize


def fails(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} expected")


def sandboxes(daytona):
    params = CreateSandboxFromSnapshotParams(
        name="ada", labels={"of": "test"}, env_vars={"GREETING": "hello"}, auto_stop_interval=0, auto_delete_interval=60
    )
    sandbox = daytona.create(params)
    assert sandbox.state == "started" and sandbox.name == "ada", sandbox
    assert daytona.get("ada").id == sandbox.id
    other = daytona.create(
        CreateSandboxFromImageParams(image="debian:12", resources=Resources(cpu=2, memory=4, disk=8), labels={"of": "x"})
    )
    assert (other.cpu, other.memory, other.disk) == (2, 4, 8), other
    found = list(daytona.list(ListSandboxesQuery(labels={"of": "test"})))
    assert [item.id for item in found] == [sandbox.id], found
    assert len(list(daytona.list(ListSandboxesQuery(limit=1)))) == 2
    assert sandbox.set_labels({"of": "test", "more": "yes"}) == {"of": "test", "more": "yes"}
    sandbox.set_autostop_interval(30)
    sandbox.set_auto_archive_interval(60)
    sandbox.set_auto_delete_interval(-1)
    sandbox.refresh_data()
    assert (sandbox.auto_stop_interval, sandbox.auto_delete_interval) == (30, -1)
    preview = sandbox.get_preview_link(8080)
    assert preview.token and "8080" in preview.url, preview
    other.delete(wait=True)
    fails(DaytonaNotFoundError, lambda: daytona.get(other.id))
    return sandbox


def files(sandbox):
    home = sandbox.get_work_dir()
    assert home == sandbox.get_user_home_dir() == "/home/daytona", home
    fs = sandbox.fs
    every_byte = bytes(range(256)) * 1000
    fs.create_folder("notes", "755")
    fs.upload_file(b"one\ntwo\n", "notes/a.txt")
    fs.upload_files([FileUpload(every_byte, "/tmp/bytes"), FileUpload("zwei ä\n".encode(), "notes/deep/b.txt")])
    assert fs.download_file("/tmp/bytes") == every_byte
    assert b"".join(fs.download_file_stream("notes/deep/b.txt")) == "zwei ä\n".encode()
    answers = fs.download_files([FileDownloadRequest(source="notes/a.txt"), FileDownloadRequest(source="missing")])
    assert answers[0].result == b"one\ntwo\n" and answers[1].error, answers
    fails(DaytonaNotFoundError, lambda: fs.download_file("missing"))
    fails(DaytonaNotFoundError, lambda: fs.get_file_info("missing"))
    info = fs.get_file_info("notes/a.txt")
    assert (info.name, info.size, info.is_dir) == ("a.txt", 8, False), info
    fs.set_file_permissions("notes/a.txt", mode="600")
    assert fs.get_file_info("notes/a.txt").mode == "-rw-------"
    assert sorted(item.name for item in fs.list_files("notes")) == ["a.txt", "deep"]
    assert len(fs.list_files("notes", depth=2)) == 3
    match = fs.find_files("notes", "two")[0]
    assert (match.file, match.line, match.content) == ("/home/daytona/notes/a.txt", 2, "two"), match
    assert fs.search_files("notes", "*.txt").files == [f"{home}/notes/a.txt", f"{home}/notes/deep/b.txt"]
    assert all(done.success for done in fs.replace_in_files(["notes/a.txt"], "two", "three"))
    fs.move_files("notes/a.txt", "moved.txt")
    assert sandbox.process.exec("cat moved.txt").result == "one\nthree\n"
    fails(DaytonaError, lambda: fs.delete_file("notes"))
    fs.delete_file("notes", recursive=True)
    fs.delete_file("moved.txt")
    assert fs.list_files(".") == []


def commands(sandbox):
    answer = sandbox.process.exec("echo $GREETING $X; pwd; echo wrong >&2; exit 4", cwd="/tmp", env={"X": "y"})
    assert (answer.exit_code, answer.result) == (4, "hello y\n/tmp\nwrong\n"), answer
    late = fails(DaytonaError, lambda: sandbox.process.exec("sleep 600", timeout=1))
    assert late.status_code == 408, late


def sessions(sandbox):
    process = sandbox.process
    process.create_session("s")
    fails(DaytonaError, lambda: process.create_session("s"))
    process.execute_session_command("s", SessionExecuteRequest(command="cd /tmp; export Y=kept"))
    answer = process.execute_session_command("s", SessionExecuteRequest(command="pwd; echo $Y; echo bad >&2; false"))
    assert (answer.exit_code, answer.stdout, answer.stderr) == (1, "/tmp\nkept\n", "bad\n"), answer
    line = "read x; echo got $x; for n in 1 2 3; do echo out $n; echo err $n >&2; done"
    begun = process.execute_session_command(
        "s", SessionExecuteRequest(command=line, run_async=True, suppress_input_echo=True)
    )
    assert process.get_session_command("s", begun.cmd_id).exit_code is None
    process.send_session_command_input("s", begun.cmd_id, "it ä\n")
    out, err = [], []
    asyncio.run(process.get_session_command_logs_async("s", begun.cmd_id, out.append, err.append))
    assert "".join(out) == "got it ä\nout 1\nout 2\nout 3\n", out
    assert "".join(err) == "err 1\nerr 2\nerr 3\n", err
    assert process.get_session_command("s", begun.cmd_id).exit_code == 0
    logs = process.get_session_command_logs("s", begun.cmd_id)
    assert (logs.stdout, logs.stderr) == ("".join(out), "".join(err)), logs
    assert [session.session_id for session in process.list_sessions()] == ["s"]
    assert len(process.get_session("s").commands) == 3
    process.delete_session("s")
    fails(DaytonaNotFoundError, lambda: process.get_session("s"))


def terminals(sandbox):
    process = sandbox.process
    pty = process.create_pty_session("p", cwd="/tmp", envs={"X": "y"}, pty_size=PtySize(rows=30, cols=100))
    pty.send_input("echo at $PWD-$X $(stty size)\n")
    seen = b""
    for piece in pty:
        seen += piece
        if b"at /tmp-y 30 100" in seen:
            break
    assert pty.resize(PtySize(rows=20, cols=90)).cols == 90
    assert [item.id for item in process.list_pty_sessions()] == ["p"]
    pty.send_input("stty size; exit 3\n")
    after = []
    result = pty.wait(on_data=after.append)
    assert result.exit_code == 3 and b"20 90" in b"".join(after), (result, after)
    pty.disconnect()
    other = process.create_pty_session("q")
    other.kill()
    assert other.wait().exit_code == 137
    other.disconnect()


def states(daytona, sandbox):
    sandbox.fs.upload_file(b"kept", "file")
    sandbox.stop()
    assert daytona.get("ada").state == "stopped"
    sandbox.archive()
    while sandbox.state != "archived":
        time.sleep(0.05)
        sandbox.refresh_data()
    sandbox.start()
    assert sandbox.fs.download_file("file") == b"kept"
    sandbox.delete(wait=True)
    fails(DaytonaNotFoundError, lambda: daytona.get("ada"))


def main():
    done = []
    wrong = Daytona(DaytonaConfig(api_key="wrong"))
    assert fails(DaytonaError, lambda: wrong.create()).status_code == 401
    daytona = Daytona()
    sandbox = sandboxes(daytona)
    done.append("sandboxes")
    for part in (files, commands, sessions, terminals):
        part(sandbox)
        done.append(part.__name__)
    states(daytona, sandbox)
    done.append("states")
    print(json.dumps(done))


main()
