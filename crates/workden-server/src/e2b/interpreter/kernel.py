"""The kernel of a code context: runs pieces of code one after another, which share their variables.

A request is a line of JSON on standard input: `number`, `code`, `envs`. The answers are lines of JSON on standard
output: `started`, then `stdout`, `stderr` and `result`, at most one `error`, and `done`. What the code prints, and what
its programs print, comes through two pipes, so that it never meets the answers. Needs Python 3.8 and no package.
"""

import __future__
import ast
import base64
import builtins
import codecs
import io
import json
import linecache
import os
import select
import signal
import sys
import threading
import traceback
import types

# The longest answer; the service accepts a little more.
MOST_BYTES = 4 << 20
# How deep the data of a `json` result may be.
MOST_LEVELS = 64
# Cells whose source is kept for tracebacks.
KEPT_CELLS = 500
PIECE = 1 << 16
# The most that a pipe holds.
PIPE_PIECES = 16
FUTURES = 0
for feature in __future__.all_feature_names:
    FUTURES |= getattr(__future__, feature).compiler_flag

# The formats of a result, with their MIME types and the methods that make them.
FORMATS = [
    ("html", "text/html", "_repr_html_"),
    ("markdown", "text/markdown", "_repr_markdown_"),
    ("svg", "image/svg+xml", "_repr_svg_"),
    ("png", "image/png", "_repr_png_"),
    ("jpeg", "image/jpeg", "_repr_jpeg_"),
    ("pdf", "application/pdf", "_repr_pdf_"),
    ("latex", "text/latex", "_repr_latex_"),
    ("json", "application/json", "_repr_json_"),
    ("javascript", "application/javascript", "_repr_javascript_"),
]
BINARY = ("image/png", "image/jpeg", "application/pdf")


class Answers:
    """The stream of answers. Several threads write to it, a whole line at a time."""

    def __init__(self, fd):
        self.fd = fd
        self.lock = threading.Lock()
        self.number = None

    def send(self, kind, **fields):
        number = self.number
        if number is not None:
            self.write(self.line(kind, number, fields), number, number)

    def line(self, kind, number, fields):
        text = json.dumps(dict(fields, kind=kind, of=number), ensure_ascii=False, allow_nan=False)
        # A lone surrogate is not text for the service.
        return text.encode("utf-8", "replace") + b"\n"

    def write(self, line, number, then):
        """Writes a line of a piece of code, and sets the number of the next lines."""
        rest = memoryview(line)
        try:
            with self.lock:
                # A thread may come late: between two pieces of code, there are no answers.
                if self.number != number:
                    return
                while rest:
                    rest = rest[os.write(self.fd, rest) :]
                self.number = then
        except OSError:
            # The service has gone, or the code has closed the stream.
            os._exit(1)

    def result(self, number, formats, is_main):
        """Returns a result as a line; what is too large is cut or left out, and standard error says so."""
        formats, cut = dict(formats), False
        while True:
            line = self.line("result", number, {"formats": formats, "is_main": is_main})
            if len(line) <= MOST_BYTES:
                return line
            # Text that was cut is small enough to stay.
            sizes = {name: len(json.dumps(data)) for name, data in formats.items() if name != "text" or not cut}
            largest = max(sizes, key=sizes.get)
            data = formats.pop(largest)
            if largest == "text":
                formats["text"], cut = data[: MOST_BYTES // 16], True
            size = sizes[largest]
            print("%s of the result is too large (%d bytes): cut or left out" % (largest, size), file=sys.stderr)

    def finish(self):
        """Ends the answers to a piece of code."""
        number = self.number
        if number is not None:
            self.write(self.line("done", number, {}), number, None)


class Printed:
    """A standard stream of the code: a pipe, whose content becomes answers."""

    def __init__(self, kind, fd, answers):
        self.kind, self.fd, self.answers = kind, fd, answers
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.lock = threading.Lock()
        self.file = None

    def attach(self):
        """Makes the pipe the standard stream again, whatever the code has done to it."""
        os.dup2(self.writer, self.fd)
        if self.file is None or self.file.closed:
            self.file = io.open(
                self.fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
            )
            setattr(sys, self.kind, self.file)
            setattr(sys, "__%s__" % self.kind, self.file)

    def pass_on(self, pieces):
        with self.lock:
            for _ in range(pieces):
                try:
                    piece = os.read(self.reader, PIECE)
                except BlockingIOError:
                    return
                text = self.decoder.decode(piece)
                if text:
                    self.answers.send(self.kind, text=text)

    def pass_all_on(self):
        """Passes on what was printed until now."""
        try:
            self.file.flush()
        except (OSError, ValueError):
            # The code has closed it.
            pass
        self.pass_on(PIPE_PIECES)

    def finish(self):
        self.pass_all_on()
        with self.lock:
            text = self.decoder.decode(b"", True)
            self.decoder.reset()
            if text:
                self.answers.send(self.kind, text=text)


def is_plain(value, levels=MOST_LEVELS):
    """Whether a value is JSON that every client reads."""
    if value is None or isinstance(value, (bool, str)):
        return True
    if isinstance(value, int):
        return abs(value) < 1 << 63
    if isinstance(value, float):
        return value - value == 0
    if levels == 0:
        return False
    if isinstance(value, (list, tuple)):
        return all(is_plain(item, levels - 1) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item, levels - 1) for key, item in value.items())
    return False


def encoded(mime, data):
    """Returns data of a MIME type as it is sent; None if it cannot be."""
    if isinstance(data, (bytes, bytearray)):
        if mime in BINARY:
            return base64.b64encode(data).decode("ascii")
        return bytes(data).decode("utf-8", "replace")
    if mime == "application/json" and isinstance(data, str):
        # As in notebooks, text is JSON that was encoded already.
        try:
            data = json.loads(data)
        except ValueError:
            return None
    if isinstance(data, str):
        return str(data)
    return data if mime.endswith("json") and is_plain(data) else None


def called(value, method, *arguments, **named):
    """Calls a method by which a value describes itself. One that fails is told of on standard error."""
    # Of the type: a class has no representation because its instances have one.
    function = getattr(type(value), method, None)
    if not callable(function):
        return None
    try:
        answer = function(value, *arguments, **named)
    except NotImplementedError:
        return None
    except Exception:
        traceback.print_exc()
        return None
    # The second part is metadata.
    return answer[0] if isinstance(answer, tuple) and answer else answer


def from_bundle(bundle):
    """Returns the formats in a dictionary by MIME type."""
    names = {mime: name for name, mime, _ in FORMATS}
    names["text/plain"] = "text"
    formats, extra = {}, {}
    for mime, data in bundle.items():
        data = encoded(mime, data) if isinstance(mime, str) else None
        if data is not None and mime in names:
            formats[names[mime]] = data
        elif data is not None:
            extra[mime] = data
    if extra:
        formats["extra"] = extra
    return formats


def formats_of(value):
    """Returns a value in all formats that it has."""
    bundle = called(value, "_repr_mimebundle_", include=None, exclude=None)
    formats = from_bundle(bundle) if isinstance(bundle, dict) else {}
    for name, mime, method in FORMATS:
        if name not in formats:
            data = called(value, method)
            data = None if data is None else encoded(mime, data)
            if data is not None:
                formats[name] = data
    if "text" not in formats:
        formats["text"] = repr(value)
    text = formats["text"]
    # Clients expect text without its quotes.
    if len(text) > 1 and text[0] == text[-1] == "'":
        formats["text"] = text[1:-1]
    return formats


class Kernel:
    def __init__(self, requests, answers):
        self.requests = requests
        self.answers = Answers(answers)
        self.printed = [Printed("stdout", 1, self.answers), Printed("stderr", 2, self.answers)]
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop = None
        self.child = False
        # Whether an interrupt ends the code, is kept for a moment, or was kept.
        self.running = self.guarded = self.interrupted = False
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self.main
        builtins.display = self.display
        for stream in self.printed:
            stream.attach()
        threading.Thread(target=self.read_printed, name="printed", daemon=True).start()
        os.register_at_fork(after_in_child=self.forked)

    def serve(self):
        while True:
            line = self.requests.readline()
            if not line:
                os._exit(0)
            request = json.loads(line)
            self.execute(request["number"], request["code"], request["envs"])

    def read_printed(self):
        poll = select.poll()
        streams = {stream.reader: stream for stream in self.printed}
        for fd in streams:
            poll.register(fd, select.POLLIN)
        while True:
            for fd, event in poll.poll():
                if not event & select.POLLIN:
                    # The code has closed it.
                    os._exit(1)
                streams[fd].pass_on(1)

    def forked(self):
        """In a child, nothing of the kernel goes on but the code that forked."""
        self.child = True
        self.answers.number = None
        self.answers.lock = threading.Lock()
        for stream in self.printed:
            stream.lock = threading.Lock()
        for fd in (self.requests.fileno(), self.answers.fd):
            try:
                os.close(fd)
            except OSError:
                pass

    def interrupt(self, *_):
        if self.guarded:
            self.interrupted = True
        elif self.running:
            # Once: what catches it and goes on is killed by the service.
            self.running = False
            raise KeyboardInterrupt

    def guard(self, send, *arguments, **named):
        """Calls a function that an interrupt must not end halfway."""
        if threading.current_thread() is not threading.main_thread():
            return send(*arguments, **named)
        self.guarded = True
        try:
            send(*arguments, **named)
        finally:
            self.guarded = False
        if self.interrupted:
            self.interrupted = False
            self.interrupt()

    def display(self, *values, raw=False, **_):
        """Shows values as results, before the code ends."""
        for value in values:
            formats = from_bundle(value) if raw and isinstance(value, dict) else formats_of(value)
            self.guard(self.show, formats, False)

    def show(self, formats, is_main):
        number = self.answers.number
        if number is None:
            return
        line = self.answers.result(number, formats, is_main)
        # What was printed before comes before, and so does what was cut.
        for stream in self.printed:
            stream.pass_all_on()
        self.answers.write(line, number, number)

    def execute(self, number, code, envs):
        self.answers.number = number
        signal.signal(signal.SIGINT, self.interrupt)
        for stream in self.printed:
            stream.attach()
        error = None
        before = {}
        try:
            try:
                self.interrupted, self.running = False, True
                self.guard(self.answers.send, "started")
                for name, value in envs.items():
                    before[name] = os.environ.get(name)
                    os.environ[name] = value
                value = self.run(number, code)
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
                if value is not None:
                    self.main.__dict__["_"] = value
                    self.guard(self.show, formats_of(value), True)
            except BaseException as raised:
                error = self.described(raised)
            self.running = False
        except BaseException as raised:
            # Interrupted, or out of memory, while the error was described.
            error = {"name": type(raised).__name__, "value": "", "traceback": ""}
        self.running = False
        if self.child:
            os._exit(1 if error else 0)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for stream in self.printed:
            stream.finish()
        if error is not None:
            self.answers.send("error", **error)
        self.answers.finish()

    def run(self, number, code):
        """Runs code, and returns the value of its last expression; None if a semicolon follows it."""
        name = "<cell %d>" % number
        lines = code.splitlines(True)
        linecache.cache[name] = (len(code), None, lines, name)
        linecache.cache.pop("<cell %d>" % (number - KEPT_CELLS), None)
        tree = compile(code, name, "exec", self.flags | ast.PyCF_ONLY_AST, True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body.pop()
        self.evaluate(compile(tree, name, "exec", self.flags, True))
        if last is None:
            return None
        value = self.evaluate(compile(ast.Expression(last.value), name, "eval", self.flags, True))
        source = code.encode("utf-8", "replace").split(b"\n")
        rest = source[last.end_lineno - 1 :]
        return None if rest and rest[0][last.end_col_offset :].lstrip(b" \t)").startswith(b";") else value

    def evaluate(self, code):
        self.flags |= code.co_flags & FUTURES
        value = eval(code, self.main.__dict__)
        # Code with `await` outside of functions.
        if code.co_flags & 0x80 and hasattr(value, "send"):
            import asyncio

            if self.loop is None or self.loop.is_closed():
                self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            return self.loop.run_until_complete(value)
        return value

    def described(self, error):
        try:
            value = str(error)
        except Exception:
            value = "<no text: __str__ failed>"
        try:
            shown = traceback.TracebackException(type(error), error, error.__traceback__)
            # The frames of the kernel say nothing about the code.
            shown.stack[:] = [frame for frame in shown.stack if frame.filename != "<kernel>"]
            text = "".join(shown.format())
        except Exception:
            text = "".join(traceback.format_tb(error.__traceback__))
        most = MOST_BYTES // 16
        return {"name": type(error).__name__, "value": value[:most], "traceback": text[-most:]}


def main():
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    kernel = Kernel(requests, answers)
    # The loader has taken it away, so that no file of the sandbox passed for a module above.
    sys.path.insert(0, "")
    kernel.serve()


main()
