"""Callers that E2B's interface must refuse, or must not let do harm. Each finished part prints its name."""

import base64
import hashlib
import json
import os
import socket
import struct
import time
from urllib.parse import urlsplit

import httpx

URL, ADMIN = os.environ["E2B_API_URL"], os.environ["E2B_API_KEY"]
PATIENCE = 120
STREAM = "application/connect+json"


def frame(message, flags=0):
    text = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


def frames(data):
    while data:
        flags, length = struct.unpack(">BI", data[:5])
        yield flags, json.loads(data[5 : 5 + length])
        data = data[5 + length :]


def tenant_key(client, tenant):
    made = client.post(
        f"{URL}/v1/keys", headers={"X-API-KEY": ADMIN}, json={"role": "tenant", "tenant": tenant, "label": "attacks"}
    )
    assert made.status_code == 201, made.text
    return {"X-API-KEY": made.json()["key"]}


def create(client, key):
    made = client.post(f"{URL}/v2/sandboxes", headers=key, json={"templateID": "base", "timeout": 600})
    assert made.status_code == 201, made.text
    made = made.json()
    return made["sandboxID"], made["envdAccessToken"]


def to(sandbox, token, **more):
    return {"E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": "49983", "X-Access-Token": token, **more}


def run(client, sandbox, token, *words, **more):
    request = frame({"process": {"cmd": words[0], "args": words[1:]}, "stdin": False})
    headers = to(sandbox, token, **{"Content-Type": STREAM, **more})
    return client.post(f"{URL}/process.Process/Start", headers=headers, content=request)


def callers(client):
    ada, ben = tenant_key(client, "ada"), tenant_key(client, "ben")
    of_ada, token_of_ada = create(client, ada)
    of_ben, token_of_ben = create(client, ben)
    for method, path in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/connect"),
        ("POST", "/timeout"),
        ("POST", "/pause"),
        ("GET", "/metrics"),
    ]:
        answer = client.request(method, f"{URL}/sandboxes/{of_ada}{path}", headers=ben, json={"timeout": 5})
        assert answer.status_code == 404 and answer.json()["code"] == 404, (path, answer.text)
        answer = client.request(method, f"{URL}/sandboxes/{of_ada}{path}", headers={"X-API-KEY": "e2b_" + "0" * 64})
        assert answer.status_code == 401 and answer.json()["code"] == 401, (path, answer.text)
    listed = client.get(f"{URL}/v2/sandboxes", headers=ben).json()
    assert [item["sandboxID"] for item in listed] == [of_ben], listed
    # A token is for its own sandbox; what it may not use is as if it did not exist.
    missing = client.get(f"{URL}/files?path=x", headers=to("a" * 20, token_of_ben))
    foreign = client.get(f"{URL}/files?path=x", headers=to(of_ada, token_of_ben))
    assert (missing.status_code, foreign.status_code) == (502, 502), (missing.text, foreign.text)
    assert missing.text.replace("a" * 20, of_ada) == foreign.text, foreign.text
    other_end = "1" if token_of_ada.endswith("0") else "0"
    for token in ["", "wrong", token_of_ada[:-1] + other_end, token_of_ada + "0"]:
        for path in ["/files?path=x", "/health"]:
            answer = client.get(URL + path, headers=to(of_ada, token))
            assert answer.status_code == 401, (token, path, answer.text)
        answer = run(client, of_ada, token, "true")
        assert answer.status_code == 401 and answer.json()["code"] == "unauthenticated", answer.text
    # The token of a sandbox is no key of the control plane.
    for method, path in [("DELETE", f"/sandboxes/{of_ada}"), ("POST", f"/sandboxes/{of_ada}/timeout")]:
        answer = client.request(method, URL + path, headers={"X-API-KEY": token_of_ada}, json={"timeout": 9000})
        assert answer.status_code == 403, answer.text
    answer = client.post(f"{URL}/sandboxes", headers={"X-API-KEY": token_of_ada}, json={"templateID": "base"})
    assert answer.status_code == 403, answer.text
    # By host name, too.
    host = {"Host": f"49983-{of_ada}.localhost", "X-Access-Token": token_of_ada}
    assert client.get(f"{URL}/health", headers=host).status_code == 204
    assert client.get(f"{URL}/health", headers={**host, "X-Access-Token": token_of_ben}).status_code == 502
    closed = client.get(f"{URL}/", headers=to(of_ada, token_of_ada) | {"E2b-Sandbox-Port": "3000"})
    assert closed.status_code == 502 and "port is not open" in closed.json()["message"], closed.text
    # No route of ours is reached through a sandbox.
    assert client.get(f"{URL}/v1/sessions", headers=to(of_ada, token_of_ada)).status_code == 404
    return of_ada, token_of_ada, ada


def signatures(client, sandbox, token):
    client.post(f"{URL}/files?path=a", headers=to(sandbox, token), content=b"a").raise_for_status()

    def sign(text):
        return "v1_" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")

    good = sign(f"a:read::{token}")
    assert client.get(f"{URL}/files", params={"path": "a", "signature": good}).content == b"a"
    for query in [
        {"path": "a", "signature": sign("a:read::wrong")},
        {"path": "a", "signature": sign(f"a:write::{token}")},
        {"path": "b", "signature": good},
        {"path": "a", "signature": good, "username": "user"},
        {"path": "a", "signature": sign(f"a:read::{token}:1"), "signature_expiration": 1},
    ]:
        answer = client.get(f"{URL}/files", params=query)
        assert answer.status_code == 401 and answer.json()["code"] == 401, (query, answer.text)
    assert client.post(f"{URL}/files", params={"path": "a", "signature": good}, content=b"b").status_code == 401
    assert client.get(f"{URL}/health", params={"path": "a", "signature": good}).status_code != 204


def paths(client, sandbox, token):
    for path in ["../../../../etc/passwd", "/home/user/../../../..", "a\0b", "~/../../../x"]:
        answer = client.get(f"{URL}/files", params={"path": path}, headers=to(sandbox, token))
        assert answer.status_code == 400, (path, answer.status_code, answer.text)
    # What a link of the sandbox leads to is a file of the sandbox, not of the machine.
    assert run(client, sandbox, token, "ln", "-s", "/etc/shadow", "shadow").status_code == 200
    answer = client.get(f"{URL}/files?path=shadow", headers=to(sandbox, token))
    assert answer.status_code in (400, 403, 404), answer.text
    answer = client.post(f"{URL}/files?path=/etc/cron.d/x", headers=to(sandbox, token), content=b"x")
    assert answer.status_code in (400, 403, 404), answer.text
    for method, body in [
        ("Stat", {"path": "/../.."}),
        ("Remove", {"path": "/"}),
        ("Move", {"source": "a", "destination": "/../x"}),
        ("MakeDir", {"path": "x" * 5000}),
    ]:
        answer = client.post(f"{URL}/filesystem.Filesystem/{method}", headers=to(sandbox, token), json=body)
        assert answer.status_code in (400, 403) and isinstance(answer.json()["code"], str), (method, answer.text)


def metadata(client, sandbox, token):
    def upload(path, **metadata):
        headers = to(sandbox, token, **{f"X-Metadata-{key}": value for key, value in metadata.items()})
        return client.post(f"{URL}/files", params={"path": path}, headers=headers, content=b"x")

    def call(method, path):
        answer = client.post(f"{URL}/filesystem.Filesystem/{method}", headers=to(sandbox, token), json={"path": path})
        assert answer.status_code == 200, answer.text
        return answer.json()

    many = {f"k{number}": "x" * 70 for number in range(60)}
    for wrong in [{"a": "x" * 4096}, {"k" * 300: ""}, {"a": b"\xff"}, {"a": b"a\tb"}, many]:
        answer = upload("noted", **wrong)
        assert answer.status_code == 400 and answer.json()["code"] == 400, answer.text
        assert answer.json()["message"].startswith("invalid metadata: "), answer.text
    answer = upload("noted", a="x" * 60_000)
    assert answer.status_code in (400, 431), answer.text
    assert client.get(f"{URL}/files?path=noted", headers=to(sandbox, token)).status_code == 404
    # What commands set must break neither a listing nor a write.
    upload("odd/a", by="ada").raise_for_status()
    names = ["'user.e2b.\\udcff'", "'user.e2b.'", "'user.e2b.binary'", "'user.other'"]
    script = "import os; [os.setxattr('odd/a', name, b'\\xff') for name in [%s]]" % ", ".join(names)
    assert b'"exited":true' in run(client, sandbox, token, "python3", "-c", script).content
    script = """import os
open('odd/full', 'w')
try:
    for number in range(9999): os.setxattr('odd/full', f'user.e2b.{number}', b'x' * 999)
except OSError: pass
os.mkfifo('odd/pipe'); os.link('odd/full', 'odd/twin')
os.symlink('a', 'odd/link'); os.symlink('/etc/shadow', 'odd/out')"""
    assert b'"exited":true' in run(client, sandbox, token, "python3", "-c", script).content
    found = {item["name"]: item.get("metadata") for item in call("ListDir", "odd")["entries"]}
    by = {"by": "ada"}
    full = found.pop("full")
    assert found == {"a": by, "link": by, "out": None, "pipe": None, "twin": full}, found
    assert call("Stat", "odd/a")["entry"]["metadata"] == by and "metadata" not in call("Stat", "odd/pipe")["entry"]
    for path in ["odd/full", "odd/a", "odd/link"]:
        answer = upload(path)
        assert answer.status_code == 200 and "metadata" not in answer.json()[0], answer.text
        assert "metadata" not in call("Stat", path)["entry"]
    assert upload("odd/link", by="ben").status_code == 200
    assert call("Stat", "odd/a")["entry"]["metadata"] == {"by": "ben"}
    answer = run(client, sandbox, token, "python3", "-c", "import os; print(os.listxattr('odd/a'))")
    events = [item.get("event", {}) for _, item in frames(answer.content)]
    shown = base64.b64decode("".join(event["data"]["stdout"] for event in events if "data" in event))
    assert b"user.other" in shown and b"user.e2b.by" in shown and b"binary" not in shown, shown
    for path in ["odd/pipe", "odd", "/proc/self/comm", "/etc/hostname"]:
        answer = upload(path, by="ada")
        assert answer.status_code in (400, 403, 404), (path, answer.text)


def messages(client, sandbox, token):
    for content in [b"", b"\0", b"\0\xff\xff\xff\xff", b"\1\0\0\0\2{}", frame([]), frame({"process": {}}), b"\0\0\0\0\2{}"]:
        headers = to(sandbox, token, **{"Content-Type": STREAM})
        for method in ["Start", "Connect", "StreamInput"]:
            answer = client.post(f"{URL}/process.Process/{method}", headers=headers, content=content)
            if method == "StreamInput" and not content:
                continue
            last = list(frames(answer.content))[-1]
            assert last[0] == 2 and last[1]["error"]["code"], (method, content, answer.content)
    deep = b'{"path":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for content, statuses in [(deep, [400]), (b"\xff", [400]), (b'{"path": 1}', [400]), (b"x" * (9 << 20), [429])]:
        headers = to(sandbox, token, **{"Content-Type": "application/json"})
        for method in ["filesystem.Filesystem/Stat", "process.Process/SendInput"]:
            try:
                answer = client.post(f"{URL}/{method}", headers=headers, content=content)
            except httpx.TransportError:
                # A body that is too large may be refused before it is sent.
                assert len(content) > 8 << 20
                continue
            assert answer.status_code in statuses, (method, answer.status_code, answer.text)
    for path in ["filesystem.Filesystem/Nothing", "process.Process/Nothing"]:
        answer = client.post(f"{URL}/{path}", headers=to(sandbox, token), json={})
        assert answer.status_code == 501 and answer.json()["code"] == "unimplemented", answer.text
    answer = client.post(f"{URL}/filesystem.Filesystem/Stat", headers=to(sandbox, token), content=b"\x0a\x01a")
    assert answer.status_code == 400, answer.text
    variables = {"process": {"cmd": "env", "envs": {"A=B": "x", "": "y", "N\0": "z"}}}
    headers = to(sandbox, token, **{"Content-Type": STREAM})
    answer = client.post(f"{URL}/process.Process/Start", headers=headers, content=frame(variables))
    assert list(frames(answer.content))[-1][1].get("error"), answer.content


def shapes(client, key):
    for body in [b"{", b"[]", b'{"templateID": 1}', b'{"templateID": "base", "timeout": -1}', b"{}"]:
        answer = client.post(f"{URL}/sandboxes", headers={**key, "Content-Type": "application/json"}, content=body)
        assert answer.status_code == 400 and answer.json()["code"] == 400, answer.text
    for path in ["/v3/templates", "/volumes", "/secrets"]:
        answer = client.get(URL + path, headers=key)
        assert answer.status_code == 501 and answer.json()["code"] == 501, answer.text
    for query in ["limit=x", "metadata=%25FF", "startedAfter=now"]:
        answer = client.get(f"{URL}/v2/sandboxes?{query}", headers=key)
        assert answer.status_code == 400 and answer.json()["code"] == 400, (query, answer.text)
    # Repeated with its key, a creation is made once.
    headers = {**key, "Idempotency-Key": "once-1"}
    made = [client.post(f"{URL}/sandboxes", headers=headers, json={"templateID": "base"}).json() for _ in range(2)]
    assert made[0]["sandboxID"] == made[1]["sandboxID"], made


def policies(client):
    """The policy of a tenant holds for these calls, too, and the record says who made them."""
    admin = {"X-API-KEY": ADMIN}
    settings = {"policy": {"preset": "readonly"}}
    answer = client.put(f"{URL}/v1/tenants/cleo", headers=admin, json=settings)
    assert answer.status_code in (200, 201, 204), answer.text
    sandbox, token = create(client, tenant_key(client, "cleo"))
    answer = client.post(f"{URL}/files?path=a", headers=to(sandbox, token), content=b"a")
    assert answer.status_code == 403 and answer.json()["code"] == 403, answer.text
    for method, body in [("MakeDir", {"path": "a"}), ("Remove", {"path": "a"}), ("Move", {"source": "a", "destination": "b"})]:
        answer = client.post(f"{URL}/filesystem.Filesystem/{method}", headers=to(sandbox, token), json=body)
        assert answer.status_code in (403, 404) and answer.json()["code"] in ("permission_denied", "not_found"), answer.text
    answer = run(client, sandbox, token, "touch", "a")
    assert list(frames(answer.content))[-1][1]["error"]["code"] == "permission_denied", answer.content
    events = client.get(f"{URL}/v1/sessions/{sandbox}/events", headers=admin).json()
    assert f"session:{sandbox}" in json.dumps(events) and "touch" in json.dumps(events), events


def copies(client, sandbox, token, key):
    """A snapshot is its tenant's, a hostile sandbox can only spoil its own, and neither quotas nor walls are passed."""
    mine, stranger = key, tenant_key(client, "ben")

    def take(body=None):
        return client.post(f"{URL}/sandboxes/{sandbox}/snapshots", headers=mine, json=body or {})

    def started(template, headers):
        return client.post(f"{URL}/v2/sandboxes", headers=headers, json={"templateID": template, "timeout": 600})

    def limit(**quotas):
        body = {"quotas": quotas, "policy": {}}
        answer = client.put(f"{URL}/v1/tenants/ada", headers={"Authorization": f"Bearer {ADMIN}"}, json=body)
        assert answer.status_code == 204, answer.text

    taken = take({"name": "mine"})
    assert taken.status_code == 201, taken.text
    snapshot = taken.json()["snapshotID"]
    for template in [snapshot, "mine"]:
        assert started(template, stranger).status_code == 404
    assert client.delete(f"{URL}/templates/{snapshot}", headers=stranger).status_code == 404
    assert client.get(f"{URL}/snapshots", headers=stranger).json() == []
    for path, body in [("snapshots", {}), ("fork", {"count": 1})]:
        answer = client.post(f"{URL}/sandboxes/{sandbox}/{path}", headers=stranger, json=body)
        assert answer.status_code == 404, answer.text
        answer = client.post(f"{URL}/sandboxes/{sandbox}/{path}", headers={"X-API-KEY": token}, json=body)
        assert answer.status_code in (401, 403), answer.text
    for count in [0, 21, -1, "x", 1.5]:
        answer = client.post(f"{URL}/sandboxes/{sandbox}/fork", headers=mine, json={"count": count})
        assert answer.status_code == 400, answer.text
    # A `tar` of the sandbox's own is not run for the snapshot, nor does its archive lead out of the next sandbox.
    plant = "mkdir -p bin && printf '#!/bin/sh\necho no archive' > bin/tar && chmod 755 bin/tar && ln -s /etc/passwd stolen && ln -s / root"
    assert run(client, sandbox, token, "sh", "-c", plant).status_code == 200
    taken = take()
    assert taken.status_code == 201, taken.text
    answer = started(taken.json()["snapshotID"], mine)
    assert answer.status_code == 201, answer.text
    copy = answer.json()
    answer = run(client, copy["sandboxID"], copy["envdAccessToken"], "sh", "-c", "readlink stolen; test -x bin/tar && echo kept")
    for text in [b"/etc/passwd\n", b"kept\n"]:
        assert base64.b64encode(text) in answer.content, answer.content
    client.delete(f"{URL}/sandboxes/{copy['sandboxID']}", headers=mine)
    # Quotas are those of the tenant, and what was not finished does not count.
    limit(snapshot_size="64K")
    assert run(client, sandbox, token, "sh", "-c", "head -c 3000000 /dev/zero > zeros").status_code == 200
    for _ in range(3):
        answer = take()
        assert answer.status_code == 413, answer.text
    assert len(client.get(f"{URL}/snapshots", headers=mine).json()) == 2
    limit(max_snapshots=2)
    answer = take()
    assert answer.status_code in (429, 503) and "snapshots" in answer.json()["message"], answer.text
    limit()
    for item in client.get(f"{URL}/snapshots", headers=mine).json():
        assert client.delete(f"{URL}/templates/{item['snapshotID']}", headers=mine).status_code == 204


def deserters(client, sandbox, token):
    """Clients that go away in the middle leave a sandbox that works, and nothing of theirs that counts as running."""
    address = urlsplit(URL)
    head = "".join(f"{name}: {value}\r\n" for name, value in to(sandbox, token, Host=address.netloc).items())

    def send(text, read):
        with socket.create_connection((address.hostname, address.port), PATIENCE) as stream:
            stream.sendall(text)
            if read:
                stream.recv(1)

    start = frame({"process": {"cmd": "sh", "args": ["-c", "yes | head -c 50000000; exec sleep 7777"]}, "stdin": True})
    post = f"POST /process.Process/Start HTTP/1.1\r\n{head}Content-Type: {STREAM}\r\n"
    send(f"{post}Connect-Timeout-Ms: 3000\r\nContent-Length: {len(start)}\r\n\r\n".encode() + start, True)
    send(f"{post}Content-Length: {len(start)}\r\n\r\n".encode() + start[:9], False)
    send(f"POST /files?path=half HTTP/1.1\r\n{head}Content-Length: 1000\r\n\r\nhalf".encode(), False)
    form = 'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\n\r\n--x\r\nContent-Disposition: '
    send(f"POST /files?path=half HTTP/1.1\r\n{head}{form}".encode() + b'form-data; name="file"\r\n\r\nhalf', False)
    begun = time.monotonic()
    while True:
        answer = client.post(f"{URL}/process.Process/List", headers=to(sandbox, token), json={})
        if not any("7777" in " ".join(item["config"]["args"]) for item in answer.json()["processes"]):
            break
        assert time.monotonic() - begun < PATIENCE, answer.text
        time.sleep(0.05)
    assert client.get(f"{URL}/files?path=half", headers=to(sandbox, token)).status_code == 404
    answer = run(client, sandbox, token, "echo", "works")
    assert b"d29ya3MK" in answer.content, answer.content


def main():
    with httpx.Client(timeout=PATIENCE) as client:
        try:
            sandbox, token, key = callers(client)
            print("callers", flush=True)
            for part, more in [
                (signatures, (sandbox, token)),
                (paths, (sandbox, token)),
                (metadata, (sandbox, token)),
                (messages, (sandbox, token)),
                (shapes, (key,)),
                (policies, ()),
                (copies, (sandbox, token, key)),
                (deserters, (sandbox, token)),
            ]:
                part(client, *more)
                print(part.__name__, flush=True)
        finally:
            # A service leaves its sandboxes running when it ends.
            for item in client.get(f"{URL}/v2/sandboxes", headers={"X-API-KEY": ADMIN}).json():
                client.delete(f"{URL}/sandboxes/{item['sandboxID']}", headers={"X-API-KEY": ADMIN})
    print("held")


main()
