"""The Python SDK of E2B, unchanged, against `workden serve`.

It is configured by the variables that the SDK documents. Each finished part prints its name.
"""

import asyncio
import io
import os
import time
import urllib.error
import urllib.request

from e2b import (
    AsyncSandbox,
    CommandExitException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxQuery,
    TimeoutException,
)
from e2b.exceptions import (
    AuthenticationException,
    InvalidArgumentException,
    SandboxException,
    SandboxNotRunningException,
)

PATIENCE = 120


def fails(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} expected")


def soon(what, check):
    start = time.monotonic()
    while not check():
        assert time.monotonic() - start < PATIENCE, what
        time.sleep(0.05)


def sandboxes():
    sandbox = Sandbox.create(timeout=600, metadata={"of": "test", "odd name": "a=b&c d"}, envs={"GREETING": "hello"})
    other = Sandbox.create(timeout=60)
    assert sandbox.is_running()
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id and info.template_id == "base", info
    assert info.metadata["odd name"] == "a=b&c d" and info.state.value == "running", info
    assert 500 < (info.end_at - info.started_at).total_seconds() <= 601, info
    found = Sandbox.list(query=SandboxQuery(metadata={"odd name": "a=b&c d"})).next_items()
    assert [item.sandbox_id for item in found] == [sandbox.sandbox_id], found
    pages, paginator = [], Sandbox.list(limit=1)
    while paginator.has_next:
        pages += paginator.next_items()
    assert {item.sandbox_id for item in pages} == {sandbox.sandbox_id, other.sandbox_id}, pages
    sandbox.set_timeout(1200)
    assert (sandbox.get_info().end_at - info.end_at).total_seconds() > 500
    again = Sandbox.connect(sandbox.sandbox_id)
    assert again.commands.run("echo $GREETING").stdout == "hello\n"
    assert (sandbox.get_info().end_at - info.end_at).total_seconds() > 500, "connecting never shortens"
    assert sandbox.get_host(3000).startswith(f"3000-{sandbox.sandbox_id}."), sandbox.get_host(3000)
    metrics = sandbox.get_metrics()
    assert len(metrics) == 1 and metrics[0].cpu_count > 0, metrics
    assert other.kill() and not other.kill() and not other.is_running()
    fails(NotFoundException, lambda: Sandbox.connect("a" * 20))
    fails(SandboxException, lambda: other.commands.run("true"))
    fails(SandboxException, lambda: Sandbox.create(template="missing"))
    fails(SandboxException, lambda: Sandbox.create(network={"deny_out": ["0.0.0.0/0"]}))
    return sandbox


def files(sandbox):
    files = sandbox.files
    written = files.write("notes/a.txt", "one\n")
    assert (written.path, written.name) == ("/home/user/notes/a.txt", "a.txt"), written
    assert files.read("/home/user/notes/a.txt") == "one\n" and files.read("~/notes/a.txt") == "one\n"
    assert sandbox.commands.run("cat /home/user/notes/a.txt ~/notes/a.txt").stdout == "one\none\n"
    blob = bytes(range(256)) * 40_000
    files.write("blob", blob)
    assert bytes(files.read("blob", format="bytes")) == blob
    assert b"".join(files.read("blob", format="stream")) == blob
    files.write("streamed", blob, use_octet_stream=True)
    assert bytes(files.read("streamed", format="bytes")) == blob
    several = files.write_files([{"path": "d/1", "data": "1"}, {"path": "d/e/2", "data": b"2"}])
    assert [item.path for item in several] == ["/home/user/d/1", "/home/user/d/e/2"], several
    assert sorted(item.path for item in files.list("d")) == ["/home/user/d/1", "/home/user/d/e"]
    assert sorted(item.name for item in files.list("d", depth=2)) == ["1", "2", "e"]
    assert files.exists("d/e") and not files.exists("d/f")
    assert files.make_dir("made/below") and not files.make_dir("made/below")
    info = files.get_info("d/1")
    assert (info.name, info.size, info.type.value, info.owner) == ("1", 1, "file", "user"), info
    sandbox.commands.run("ln -s d/1 link && chmod 644 d/1")
    info = files.get_info("link")
    assert (info.symlink_target, info.type.value) == ("/home/user/d/1", "symlink"), info
    sandbox.commands.run("mkdir links && cd links && ln -s /nowhere broken && ln -s . self && mkfifo pipe")
    found = {item.name: (item.type.value, item.symlink_target) for item in files.list("links", depth=9)}
    home = "/home/user/links"
    assert found == {"broken": ("symlink", ""), "self": ("symlink", home), "pipe": ("file", None)}, found
    fails(InvalidArgumentException, lambda: files.read("links/pipe"))
    files.write("/tmp/shared", "in memory")
    assert sandbox.commands.run("cat /tmp/shared").stdout == "in memory"
    moved = files.rename("d/1", "d/moved")
    assert moved.path == "/home/user/d/moved" and not files.exists("d/1"), moved
    files.remove("d")
    assert not files.exists("d")
    files.remove("d")
    fails(NotFoundException, lambda: files.read("d"))
    fails(NotFoundException, lambda: files.list("d"))
    fails(InvalidArgumentException, lambda: files.read("made"))
    fails(InvalidArgumentException, lambda: files.list("notes/a.txt"))
    fails(AuthenticationException, lambda: files.read("notes/a.txt", user="root"))


def metadata(sandbox):
    files, odd = sandbox.files, "!#$%&'*+-.^_`|~"
    given = {"Author": "Ada L.", "empty": "", odd: "~"}
    kept = {"author": "Ada L.", "empty": "", odd: "~"}
    written = files.write("noted/a", "a", metadata=given)
    assert written.metadata == kept, written
    assert files.get_info("noted/a").metadata == kept
    files.write_files([{"path": "noted/b", "data": "b"}, {"path": "noted/c", "data": "c"}], metadata={"of": "both"})
    files.write("noted/stream", io.BytesIO(b"s" * 3_000_000), metadata={"of": "stream"})
    written = files.write("noted/plain", "p")
    assert written.metadata is None and files.get_info("noted").metadata is None, written
    sandbox.commands.run("ln -s a noted/link")
    found = {item.name: item.metadata for item in files.list("noted")}
    both = {"of": "both"}
    assert found == {"a": kept, "b": both, "c": both, "stream": {"of": "stream"}, "plain": None, "link": kept}, found
    # Commands see it, and take it along.
    script = "import os; print(os.getxattr('noted/a', 'user.e2b.author').decode())"
    assert sandbox.commands.run(f'python3 -c "{script}" && mv noted/a noted/moved').stdout == "Ada L.\n"
    assert files.get_info("noted/moved").metadata == kept
    sandbox.commands.run("""python3 -c "import os; os.setxattr('noted/moved', 'user.e2b.by', b'hand')" """)
    renamed = files.rename("noted/moved", "noted/d")
    assert renamed.metadata == {**kept, "by": "hand"}, renamed
    # A write replaces all of it, and one without metadata clears it.
    assert files.write("noted/d", "d", metadata={"new": "1"}).metadata == {"new": "1"}
    assert files.get_info("noted/d").metadata == {"new": "1"} and files.read("noted/d") == "d"
    assert files.write("noted/d", "e").metadata is None and files.get_info("noted/d").metadata is None
    assert files.write("/tmp/noted", "t", metadata=both).metadata == both
    assert files.get_info("/tmp/noted").metadata == both
    # The first two are found by the SDK, and the others by the service.
    many = {f"k{number}": "x" * 900 for number in range(6)}
    for wrong in [{"a b": "x"}, {"a": "\u00e4"}, {"a": "x" * 5000}, {"k" * 300: "x"}, many]:
        error = fails(InvalidArgumentException, lambda: files.write("noted/wrong", "x", metadata=wrong))
        assert "metadata" in str(error), error
    assert not files.exists("noted/wrong")


def signatures(sandbox):
    sandbox.files.write("signed.txt", "signed")
    url = sandbox.download_url("signed.txt", use_signature_expiration=600)
    assert urllib.request.urlopen(url).read() == b"signed"
    upload = sandbox.upload_url("uploaded.txt")
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="n"\r\n\r\nup\r\n--x--\r\n'
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    urllib.request.urlopen(urllib.request.Request(upload, body, form)).read()
    assert sandbox.files.read("uploaded.txt") == "up"
    for wrong in [
        url.replace("signed.txt", "uploaded.txt"),
        url.replace("signature_expiration=", "signature_expiration=9"),
        url.split("&signature")[0].split("?signature")[0],
        sandbox.download_url("signed.txt", use_signature_expiration=-5),
    ]:
        try:
            urllib.request.urlopen(wrong)
        except urllib.error.HTTPError as error:
            assert error.code in (401, 404), (wrong, error.code)
        else:
            raise AssertionError(wrong)


def commands(sandbox):
    run = sandbox.commands.run
    result = run("echo out; echo err >&2; pwd; id -un; echo $USER $HOME")
    assert result.stderr == "err\n" and result.exit_code == 0, result
    assert result.stdout.splitlines()[:2] == ["out", "/home/user"], result
    assert result.stdout.splitlines()[-1] == "user /home/user", result
    assert run("pwd; echo $A", cwd="/tmp", envs={"A": "b"}).stdout == "/tmp\nb\n"
    error = fails(CommandExitException, lambda: run("echo no >&2; exit 3"))
    assert (error.exit_code, error.stderr) == (3, "no\n"), error
    fails(InvalidArgumentException, lambda: run("true", cwd="/missing"))
    fails(AuthenticationException, lambda: run("true", user="root"))
    out, err = [], []
    run("for i in 1 2 3; do echo $i; echo e$i >&2; done", on_stdout=out.append, on_stderr=err.append)
    assert "".join(out) == "1\n2\n3\n" and "".join(err) == "e1\ne2\ne3\n", (out, err)
    big = run("head -c 3000000 /dev/zero | tr '\\0' x").stdout
    assert len(big) == 3_000_000
    fails(TimeoutException, lambda: run("sleep 4321", timeout=1))
    soon("its end", lambda: not any("4321" in " ".join(item.args) for item in sandbox.commands.list()))


def processes(sandbox):
    run = sandbox.commands.run
    handle = run("echo started; while read line; do echo got $line; done; echo bye", background=True, stdin=True, timeout=0)
    listed = [item for item in sandbox.commands.list() if item.pid == handle.pid]
    assert listed and listed[0].cmd == "/bin/bash" and listed[0].args[:2] == ["-l", "-c"], listed
    sandbox.commands.send_stdin(handle.pid, "a\n")
    handle.send_stdin("b\n")
    sandbox.commands.stream_input(handle.pid, ["c\n", "d\n"])
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "started\ngot a\ngot b\ngot c\ngot d\nbye\n"
    quiet = run("sleep 9876", background=True, timeout=0)
    quiet.disconnect()
    assert any(item.pid == quiet.pid for item in sandbox.commands.list()), "it goes on without a client"
    again = sandbox.commands.connect(quiet.pid)
    assert sandbox.commands.kill(quiet.pid)
    error = fails(CommandExitException, again.wait)
    assert error.exit_code == -1 and "killed" in (error.error or ""), vars(error)
    soon("the end", lambda: not sandbox.commands.kill(quiet.pid))
    fails(NotFoundException, lambda: sandbox.commands.connect(999_999))
    fails(NotFoundException, lambda: sandbox.commands.send_stdin(999_999, "x"))


def terminals(sandbox):
    seen = bytearray()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
    sandbox.pty.send_stdin(terminal.pid, b"stty size\n")
    sandbox.pty.resize(terminal.pid, PtySize(rows=50, cols=132))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; echo $TERM; exit 4\n")
    fails(CommandExitException, lambda: terminal.wait(on_pty=seen.extend))
    assert b"50 132" in seen and b"xterm-256color" in seen, seen
    other = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
    assert sandbox.pty.kill(other.pid)
    fails(CommandExitException, other.wait)


def repositories(sandbox):
    git = sandbox.git
    git.init("repo", initial_branch="main")
    sandbox.files.write("repo/a", "a")
    git.configure_user("Ada", "ada@example.com", scope="local", path="repo")
    git.add("repo")
    git.commit("repo", "First")
    git.create_branch("repo", "next")
    status, branches = git.status("repo"), git.branches("repo")
    assert status.is_clean and sorted(branches.branches) == ["main", "next"], (status, branches)


def pauses(sandbox):
    sandbox.files.write("kept", "kept")
    sandbox.pause()
    assert sandbox.get_info().state.value == "paused" and not sandbox.is_running()
    again = Sandbox.connect(sandbox.sandbox_id, timeout=300)
    assert again.is_running() and again.files.read("kept") == "kept"
    assert again.kill()
    assert not Sandbox.list().next_items()


def endings():
    brief = Sandbox.create(timeout=600)
    brief.set_timeout(0)
    soon("its end", lambda: not brief.is_running())
    soon("no trace", lambda: not brief.kill())
    paused = Sandbox.create(timeout=600, lifecycle={"on_timeout": "pause"})
    paused.set_timeout(0)
    paused_id = paused.sandbox_id
    soon("its pause", lambda: Sandbox.get_info(paused_id).state.value == "paused")
    again = Sandbox.connect(paused_id, timeout=300)
    assert again.commands.run("echo on").stdout == "on\n"
    # A stream of a sandbox that ends is cut, and the SDK finds out why.
    handle = again.commands.run("sleep 5555", background=True, timeout=0)
    assert again.kill()
    fails(SandboxNotRunningException, handle.wait)
    fails(NotFoundException, lambda: Sandbox.connect(paused_id))


async def many():
    sandbox = await AsyncSandbox.create(timeout=600)
    lines = [sandbox.commands.run(f"read line; echo $line {number}", stdin=True, background=True) for number in range(20)]
    handles = await asyncio.gather(*lines)
    await asyncio.gather(*[handle.send_stdin("hello\n") for handle in handles])
    results = await asyncio.gather(*[handle.wait() for handle in handles])
    assert [result.stdout for result in results] == [f"hello {number}\n" for number in range(20)], results
    files = sandbox.files
    await asyncio.gather(*[files.write(f"many/{number}", str(number) * 9999) for number in range(20)])
    contents = await asyncio.gather(*[files.read(f"many/{number}") for number in range(20)])
    assert contents == [str(number) * 9999 for number in range(20)]
    others = await asyncio.gather(*[AsyncSandbox.create(timeout=600) for _ in range(5)])
    outputs = await asyncio.gather(*[other.commands.run("echo $((6 * 7))") for other in others])
    assert [output.stdout for output in outputs] == ["42\n"] * 5
    assert all(await asyncio.gather(*[one.kill() for one in [sandbox, *others]]))


def concurrency():
    asyncio.run(many())


def watches(sandbox):
    files, seen = sandbox.files, []
    files.make_dir("watched/sub")
    handle = files.watch_dir("watched", recursive=True, include_entry=True)
    files.write("watched/sub/a.txt", "one")
    sandbox.commands.run("cd watched && echo two >> sub/a.txt && chmod 700 sub/a.txt && mv sub/a.txt b.txt && rm b.txt")

    def told():
        seen.extend(handle.get_new_events())
        return any(event.name == "b.txt" and event.type.value == "remove" for event in seen)

    soon("the last event", told)
    kinds = {(event.name, event.type.value) for event in seen}
    expected = {
        *[("sub/a.txt", kind) for kind in ["create", "write", "chmod", "rename"]],
        *[("b.txt", kind) for kind in ["create", "remove"]],
    }
    assert expected <= kinds, kinds
    created = next(event for event in seen if event.type.value == "create")
    assert created.entry is None or created.entry.path == f"/home/user/watched/{created.name}", created
    handle.stop()
    fails(SandboxException, handle.get_new_events)
    fails(NotFoundException, lambda: files.watch_dir("missing"))
    fails(InvalidArgumentException, lambda: files.watch_dir("notes/a.txt"))
    asyncio.run(followed(sandbox.sandbox_id))


async def followed(sandbox_id):
    sandbox, seen = await AsyncSandbox.connect(sandbox_id), asyncio.Queue()
    handle = await sandbox.files.watch_dir("watched", on_event=seen.put_nowait)
    await sandbox.files.write("watched/new.txt", "x")
    while (event := await asyncio.wait_for(seen.get(), PATIENCE)).name != "new.txt":
        pass
    assert event.type.value == "create", event
    await handle.stop()


def copies(sandbox):
    """Snapshots and forks have the files of a sandbox with their modes, links and times, and go on by themselves."""
    sandbox.files.write("copied/a.txt", "one")
    sandbox.commands.run("cd copied && chmod 751 a.txt && ln -s a.txt link && ln a.txt hard && mkfifo pipe && touch -d @99 a.txt")
    sandbox.commands.run("head -c 5000000 /dev/urandom > copied/large && mkdir copied/empty && printf x > 'copied/\tü'")
    look = "cd copied && stat -c '%n %a %s %h %F %Y' * && readlink link && sha256sum large"
    before = sandbox.commands.run(look).stdout
    taken = sandbox.create_snapshot("base-files")
    assert taken.names == ["base-files"], taken
    sandbox.files.write("copied/a.txt", "two", metadata={"of": "copies"})
    unnamed = sandbox.create_snapshot()
    assert unnamed.names == [] and unnamed.snapshot_id != taken.snapshot_id, unnamed
    listed = Sandbox.list_snapshots(sandbox_id=sandbox.sandbox_id, limit=1)
    found = []
    while listed.has_next:
        found += listed.next_items()
    assert {item.snapshot_id for item in found} == {taken.snapshot_id, unnamed.snapshot_id}, found
    assert [item.snapshot_id for item in Sandbox.list_snapshots(name="base-files").next_items()] == [taken.snapshot_id]
    for template in [taken.snapshot_id, "base-files"]:
        again = Sandbox.create(template, timeout=600)
        assert again.commands.run(look).stdout == before
        again.files.write("copied/a.txt", "three")
        assert again.kill()
    assert sandbox.files.read("copied/a.txt") == "two"
    forks = sandbox.fork(timeout=600, count=3)
    for fork in forks:
        assert fork.files.read("copied/a.txt") == "two"
        assert fork.files.get_info("copied/a.txt").metadata == {"of": "copies"}
        assert fork.get_info().metadata == sandbox.get_info().metadata
        assert fork.commands.run("echo $GREETING").stdout == "hello\n"
    forks[0].files.write("copied/a.txt", "four")
    assert forks[1].files.read("copied/a.txt") == sandbox.files.read("copied/a.txt") == "two"
    # A fork is paused and resumed as it is, not as it started.
    forks[0].pause()
    assert Sandbox.connect(forks[0].sandbox_id).files.read("copied/a.txt") == "four"
    assert all(fork.kill() for fork in forks)
    assert Sandbox.delete_snapshot(taken.snapshot_id) and not Sandbox.delete_snapshot(taken.snapshot_id)
    fails(SandboxException, lambda: Sandbox.create("base-files"))
    assert Sandbox.create(unnamed.snapshot_id).kill()
    assert Sandbox.delete_snapshot(unnamed.snapshot_id) and not Sandbox.delete_snapshot("base")
    assert not Sandbox.list_snapshots().next_items()
    fails(SandboxException, lambda: sandbox.create_snapshot("base"))
    fails(SandboxException, lambda: sandbox.create_snapshot("odd name"))


def fetched(sandbox, port, headers=()):
    request = urllib.request.Request(os.environ["E2B_API_URL"], headers={"Host": sandbox.get_host(port), **dict(headers)})
    return urllib.request.urlopen(request, timeout=PATIENCE).read().decode()


def ports(sandbox):
    def answers(one, *headers):
        try:
            return fetched(one, 3000, headers) == "served\n"
        except urllib.error.HTTPError as error:
            return error.code

    assert answers(sandbox) == 502
    private = Sandbox.create(timeout=600, network={"allow_public_traffic": False})
    for one in [sandbox, private]:
        one.files.write("www/index.html", "served\n")
        one.commands.run("exec python3 -m http.server 3000 --directory www", background=True, timeout=0)
    soon("the public server", lambda: answers(sandbox) is True)
    token = private.traffic_access_token
    assert token and sandbox.traffic_access_token is None
    assert private.get_host(3000).startswith(f"3000-{private.sandbox_id}."), private.get_host(3000)
    soon("the private server", lambda: answers(private, ("e2b-traffic-access-token", token)) is True)
    assert answers(private) == 401 and answers(private, ("e2b-traffic-access-token", token[:-1] + "!")) == 401
    private.kill()


def main():
    done = []
    try:
        sandbox = sandboxes()
        done.append("sandboxes")
        for part in [endings, concurrency]:
            part()
            done.append(part.__name__)
        for part in [files, metadata, watches, copies, ports, signatures, commands, processes, terminals, repositories, pauses]:
            part(sandbox)
            done.append(part.__name__)
    finally:
        # A service leaves its sandboxes running when it ends.
        for item in Sandbox.list(limit=100).next_items():
            Sandbox.kill(item.sandbox_id)
        print(" ".join(done))


main()
