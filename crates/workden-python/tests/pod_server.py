"""A server of the HTTP mode, small enough for the arguments of a container: it uses the standard library only.

`BREAK` in the environment makes it break the protocol at one route, as `{"/ls": "garbage"}`.
"""

import base64
import glob
import json
import os
import subprocess
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = os.environ["SANDBOX_EXEC_TOKEN"]
BREAK = json.loads(os.environ.get("BREAK", "{}"))


def row(path):
    is_dir = os.path.isdir(path)
    size = None if is_dir else os.path.getsize(path)
    return {"name": os.path.basename(path), "path": path, "is_dir": is_dir, "size": size}


def execute(command, timeout_seconds):
    done = subprocess.run(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_seconds
    )
    text = done.stdout.decode("utf-8", "replace")
    return {"output": text[:100_000], "exit_code": done.returncode, "truncated": len(text) > 100_000}


def read(path, offset, limit):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    return {"content": "".join(lines[offset : offset + limit])}


def write(path, content_b64):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(base64.b64decode(content_b64))
    return {"path": path}


def ls(path):
    return [row(os.path.join(path, name)) for name in os.listdir(path)]


def find(pattern, path):
    found = glob.glob(os.path.join(path, pattern), recursive=True)
    return [row(each) for each in found if os.path.isfile(each)]


ROUTES = {"/exec": execute, "/read": read, "/write": write, "/ls": ls, "/glob": find}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two small messages, which would wait for each other.
    disable_nagle_algorithm = True

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404, b"{}")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("X-Sandbox-Token") != TOKEN:
            return self.answer(401, b"{}")
        if self.path in BREAK:
            return self.break_protocol(BREAK[self.path])
        try:
            self.answer(200, json.dumps(ROUTES[self.path](**asked)).encode())
        except (FileNotFoundError, NotADirectoryError, KeyError) as error:
            self.answer(404, json.dumps({"detail": str(error)}).encode())
        except Exception as error:
            self.answer(500, json.dumps({"detail": repr(error)}).encode())

    def break_protocol(self, how):
        if how == "garbage":
            self.answer(200, b"\x00garbage")
        elif how == "status":
            self.answer(507, b"no room\x1b[31m")
        elif how == "hang":
            time.sleep(3600)
        elif how == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b'{"' * 100_000)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", int(os.environ["SANDBOX_PORT"])), Handler).serve_forever()
