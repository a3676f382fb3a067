"""The Python SDK of E2B's code interpreter, unchanged, against `workden serve`: both of its clients."""

import asyncio
import base64
import time

from e2b import NotFoundException, SandboxException, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox

PATIENCE = 120

RICH = r"""
class Rich:
    def _repr_html_(self): return "<b>é</b>"
    def _repr_markdown_(self): return "**b**"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\x89PNG"
    def _repr_jpeg_(self): return "anBlZw=="
    def _repr_pdf_(self): return b"%PDF", {"page": 1}
    def _repr_latex_(self): return r"$\alpha$"
    def _repr_json_(self): return {"a": [1, None, "b"]}
    def _repr_javascript_(self): return "alert(1)"
    def __repr__(self): return "Rich()"
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "plain", "text/html": "<i>", "application/x-own": "own"}
class Broken:
    def _repr_html_(self): raise ValueError("no html")
    def _repr_png_(self): return None
    def __getattr__(self, name): raise AttributeError(name)
    def __repr__(self): return "Broken()"
"""


def code(sandbox):
    ran = sandbox.run_code("x = 20\nx + 1")
    assert (ran.text, ran.error, ran.execution_count) == ("21", None, 1), ran
    assert [result.is_main_result for result in ran.results] == [True]
    ran = sandbox.run_code("x += 1; x")
    assert (ran.text, ran.execution_count) == ("21", 2), ran
    for source, text in [
        ("'text'", "text"),
        ("[1, 'a']", "[1, 'a']"),
        ("y = 1", None),
        ("None", None),
        ("3;", None),
        ("", None),
        ("import asyncio\nawait asyncio.sleep(0.01, 'slept')", "slept"),
        ("async def later(): return await asyncio.sleep(0, 5)", None),
        ("await later()", "5"),
        ("__name__", "__main__"),
        ("import pickle\nclass P: pass\nisinstance(pickle.loads(pickle.dumps(P())), P)", "True"),
        ("def f(n):\n    return n * 2\n\nf(21)", "42"),
    ]:
        ran = sandbox.run_code(source)
        assert (ran.text, ran.error) == (text, None), (source, ran)


def output(sandbox):
    out, err, results, errors = [], [], [], []
    ran = sandbox.run_code(
        "import os, sys, subprocess\nprint('one')\nprint('two', file=sys.stderr)\nos.system('echo three')\n"
        "subprocess.run(['sh', '-c', 'echo four >&2'])\nos.write(1, 'fünf\\u2028\\x85\\x0b'.encode())\nsys.stdout.write('no end')\n'six'",
        on_stdout=out.append,
        on_stderr=err.append,
        on_result=results.append,
        on_error=errors.append,
    )
    # Programs write at once, and Python at the end of a line.
    assert "".join(ran.logs.stdout) == "one\nthree\nfünf\u2028\x85\x0bno end", ran
    assert sorted("".join(ran.logs.stderr).split()) == ["four", "two"], ran
    assert [message.line for message in out] == ran.logs.stdout and not any(message.error for message in out)
    assert [message.line for message in err] == ran.logs.stderr and all(message.error for message in err)
    assert abs(out[0].timestamp / 1e9 - time.time()) < PATIENCE, out[0].timestamp
    assert [result.text for result in results] == ["six"] and errors == []
    # It comes while the code runs: the next line is printed only after the first has arrived.
    seen = []

    def first(message):
        if not seen:
            sandbox.files.write("go", "")
        seen.append(message.line)

    ran = sandbox.run_code(
        "import os, time\nprint('first')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('second')", on_stdout=first
    )
    assert "".join(seen) == "first\nsecond\n", seen
    ran = sandbox.run_code("print('x' * 3_000_000)\nprint('end')")
    assert "".join(ran.logs.stdout) == "x" * 3_000_000 + "\nend\n"


def results(sandbox):
    sandbox.run_code(RICH)
    result = sandbox.run_code("Rich()").results[0]
    assert (result.text, result.html, result.markdown, result.svg) == ("Rich()", "<b>é</b>", "**b**", "<svg/>")
    assert (base64.b64decode(result.png), base64.b64decode(result.jpeg)) == (b"\x89PNG", b"jpeg")
    assert base64.b64decode(result.pdf) == b"%PDF" and result.latex == r"$\alpha$"
    assert result.json == {"a": [1, None, "b"]} and result.javascript == "alert(1)"
    result = sandbox.run_code("Bundle()").results[0]
    assert (result.text, result.html, result.extra) == ("plain", "<i>", {"application/x-own": "own"}), result
    ran = sandbox.run_code("display(1, Rich()); display({'text/html': '<p>'}, raw=True)\n'main'")
    shown = [(result.text, result.html, result.is_main_result) for result in ran.results]
    assert shown == [("1", None, False), ("Rich()", "<b>é</b>", False), (None, "<p>", False), ("main", None, True)], shown
    ran = sandbox.run_code("Broken()")
    assert ran.text == "Broken()" and ran.error is None and "no html" in "".join(ran.logs.stderr), ran
    # A class is not one of its instances.
    assert sandbox.run_code("Rich").results[0].html is None


def errors(sandbox):
    seen = []
    ran = sandbox.run_code("def f():\n    return 1 / 0\nprint('before')\nf()\nprint('after')", on_error=seen.append)
    assert (ran.error.name, ran.error.value) == ("ZeroDivisionError", "division by zero"), ran
    assert "return 1 / 0" in ran.error.traceback and "<kernel>" not in ran.error.traceback, ran.error.traceback
    assert ran.logs.stdout == ["before\n"] and len(seen) == 1
    for source, name in [
        ("x = ", "SyntaxError"),
        ("missing", "NameError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("input()", "EOFError"),
        ("def g(): g()\ng()", "RecursionError"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"),
        ("class R:\n    def __repr__(self): raise KeyError('k')\nR()", "KeyError"),
        ("await asyncio.gather(later(), 1)", "TypeError"),
    ]:
        ran = sandbox.run_code(source)
        assert ran.error and ran.error.name == name and name in ran.error.traceback, (source, ran)
    assert sandbox.run_code("x").text == "21", "an error keeps the variables"


def variables(sandbox):
    read = "import os; [os.environ.get(name) for name in ('OF_SANDBOX', 'OF_CALL', 'HOME', 'USER')]"
    ran = sandbox.run_code(read, envs={"OF_CALL": "yes", "OF_SANDBOX": "other"})
    assert ran.text == "['other', 'yes', '/home/user', 'user']", ran
    assert sandbox.run_code(read).text == "['all', None, '/home/user', 'user']"
    assert sandbox.run_code("1", envs={"A=B": "x"}).error, "not the name of a variable"
    assert sandbox.run_code("1").text == "1"


def contexts(sandbox):
    (default,) = sandbox.list_code_contexts()
    assert (default.language, default.cwd) == ("python", "/home/user"), vars(default)
    sandbox.files.make_dir("project")
    one, two = sandbox.create_code_context(), sandbox.create_code_context(cwd="project", language="python")
    assert two.cwd == "/home/user/project" and one.id != two.id
    assert {context.id for context in sandbox.list_code_contexts()} == {default.id, one.id, two.id}
    for context in (one, two):
        assert sandbox.run_code(f"mine = '{context.id}'", context=context).error is None
    assert sandbox.run_code("mine", context=one).text == one.id and sandbox.run_code("mine", context=two).text == two.id
    assert sandbox.run_code("mine").error.name == "NameError" and sandbox.run_code("x", context=default).text == "21"
    assert sandbox.run_code("import os; os.getcwd()", context=two).text == "/home/user/project"
    sandbox.restart_code_context(one)
    assert sandbox.run_code("mine", context=one).error.name == "NameError"
    assert sandbox.run_code("mine", context=two).text == two.id
    sandbox.remove_code_context(two.id)
    for call in [
        lambda: sandbox.run_code("1", context=two),
        lambda: sandbox.remove_code_context(two),
        lambda: sandbox.restart_code_context(two),
    ]:
        try:
            call()
            raise AssertionError("a context that is missing")
        except NotFoundException:
            pass
    nowhere = sandbox.create_code_context(cwd="missing")
    ran = sandbox.run_code("1", context=nowhere)
    assert ran.error.name == "KernelError" and "/home/user/missing" in ran.error.value, ran
    sandbox.files.make_dir("missing")
    assert sandbox.run_code("import os; os.getcwd()", context=nowhere).text == "/home/user/missing"
    sandbox.remove_code_context(nowhere)
    for language in ["r", "javascript", "no such"]:
        for call in [lambda: sandbox.run_code("1", language=language), lambda: sandbox.create_code_context(language=language)]:
            try:
                call()
                raise AssertionError(language)
            except SandboxException as error:
                assert f"the language `{language}`: use python" in str(error), error
    assert sandbox.run_code("1", language="python").text == "1"
    assert [context.id for context in sandbox.list_code_contexts()] == [default.id, one.id]


class Left(Exception):
    pass


def leave(sandbox, source):
    """Runs code, and goes away as soon as it has printed."""

    def go_away(_):
        raise Left

    try:
        sandbox.run_code(f"print('runs')\n{source}", on_stdout=go_away, timeout=PATIENCE)
        raise AssertionError(source)
    except Left:
        pass


def timeouts(sandbox):
    """Code that a client no longer waits for is interrupted; the variables stay."""
    sandbox.run_code("kept = 5")
    try:
        sandbox.run_code("while True: pass", timeout=2)
        raise AssertionError("a timeout")
    except TimeoutException:
        pass
    assert sandbox.run_code("kept").text == "5"
    show = "class R:\n    def __repr__(self):\n        while True: pass\nR()"
    loops = ["while True: pass", "import time; time.sleep(7654)", "import os; os.system('sleep 7654')", show]
    for source in [*loops, "while True: print('flood' * 1000)"]:
        leave(sandbox, source)
        ran = sandbox.run_code("kept")
        assert (ran.text, ran.error) == ("5", None), (source, ran)
    # What ignores an interrupt is killed, with its variables, and the context goes on.
    leave(sandbox, "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass")
    ran = sandbox.run_code("kept")
    assert ran.error.name == "KernelError" and "went on after an interrupt" in ran.error.value, ran
    assert sandbox.run_code("kept").error.name == "NameError"
    assert sandbox.run_code("6 * 7").text == "42"


def processes(sandbox):
    """The kernel is a process of the sandbox, not one of the client's commands."""
    ran = sandbox.run_code("import os; os.getpid()")
    assert not any(item.pid == int(ran.text) for item in sandbox.commands.list())
    assert sandbox.commands.run(f"tr '\\0' ' ' < /proc/{ran.text}/cmdline").stdout.startswith("python3 ")
    assert sandbox.run_code("open('of-code', 'w').write('a')").text == "1"
    assert sandbox.files.read("of-code") == "a"


def pauses(sandbox):
    """A pause ends the kernels; the contexts start again."""
    sandbox.run_code("gone = 1")
    sandbox.pause()
    again = Sandbox.connect(sandbox.sandbox_id)
    ran = again.run_code("gone")
    assert ran.error.name == "NameError", ran
    assert again.run_code("open('of-code').read()").text == "a"


async def concurrency():
    sandbox = await AsyncSandbox.create(timeout=600)
    try:
        made = await asyncio.gather(*(sandbox.create_code_context() for _ in range(4)))
        ran = await asyncio.gather(*(sandbox.run_code(f"n = {at}; n", context=context) for at, context in enumerate(made)))
        assert [item.text for item in ran] == ["0", "1", "2", "3"], ran
        # In one context, code runs in the order in which it came, one after another.
        await sandbox.run_code("order = []")
        await asyncio.gather(*(sandbox.run_code(f"order.append({at})") for at in range(8)))
        assert sorted(eval((await sandbox.run_code("order")).text)) == list(range(8))
        # Contexts do not wait for each other: each waits for a file that the other makes.
        meet = "import os, time\nopen('{0}', 'w').close()\nwhile not os.path.exists('{1}'): time.sleep(0.01)\n'met'"
        ran = await asyncio.gather(
            sandbox.run_code(meet.format("a", "b"), context=made[0]), sandbox.run_code(meet.format("b", "a"), context=made[1])
        )
        assert [item.text for item in ran] == ["met", "met"], ran
        seen = []

        async def note(message):
            seen.append(message.line)

        ran = await sandbox.run_code("print('async')\n1 / 0", on_stdout=note, on_error=note_error(seen))
        assert seen == ["async\n", "ZeroDivisionError"], seen
        # A restart ends the code that runs, and says so.
        running = asyncio.create_task(sandbox.run_code("import time\nprint('runs')\ntime.sleep(7654)", on_stdout=note))
        while "runs\n" not in seen:
            await asyncio.sleep(0.01)
        (default, *_) = await sandbox.list_code_contexts()
        await sandbox.restart_code_context(default)
        ran = await running
        assert ran.error.name == "KernelError" and "restarted or removed" in ran.error.value, ran
        await asyncio.gather(*(sandbox.remove_code_context(context) for context in made))
        assert [context.id for context in await sandbox.list_code_contexts()] == [default.id]
        assert (await sandbox.run_code("1 + 1")).text == "2"
    finally:
        await sandbox.kill()


def note_error(seen):
    async def note(error):
        seen.append(error.name)

    return note


def private():
    """Without public ports, contexts need the token of the ports, which the SDK sends."""
    sandbox = Sandbox.create(timeout=600, network={"allow_public_traffic": False})
    assert sandbox.traffic_access_token
    context = sandbox.create_code_context()
    assert sandbox.run_code("'private'", context=context).text == "private"
    assert len(sandbox.list_code_contexts()) == 2
    sandbox.kill()


def main():
    done = []
    try:
        sandbox = Sandbox.create(timeout=600, envs={"OF_SANDBOX": "all"})
        parts = [code, output, results, errors, variables, contexts, timeouts, processes, pauses]
        for part in parts:
            part(sandbox)
            done.append(part.__name__)
        asyncio.run(concurrency())
        done.append("concurrency")
        private()
        done.append("private")
    finally:
        # A service leaves its sandboxes running when it ends.
        for item in Sandbox.list(limit=100).next_items():
            Sandbox.kill(item.sandbox_id)
        print(" ".join(done))


main()
