"""`cargo xtask bench kubernetes`: compares pods of this package with those of its reference library in one run.

Each contender is a separate process, and they take turns. Ours is measured over each way to a pod; both use the same
image, template and cluster. Pods are in a namespace of their own, which is deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pod_tasks import TASKS
from run import Contender, Row, measure, table

IMAGE = "workden-test/python:1"
WAYS = {"direct": ("directly", 30.0), "port_forward": ("port-forward", 10.0), "exec": ("exec", 10.0)}
# Seconds for the second call with which ours checks that content is exact, in HTTP mode.
EXACT = 0.005
FILES = ("read", "write", "ls", "glob", "grep", "edit", "execute")
SERVER = Path(__file__).parents[1] / "tests/pod_server.py"


class Kubectl:
    """The cluster's own client, as a contender that creates a pod and runs a command in it."""

    def __init__(self, kubectl: list[str]) -> None:
        self._kubectl = kubectl

    def tell(self, told: dict[str, Any]) -> dict[str, Any]:
        name = f"kubectl-{uuid.uuid4().hex[:8]}"
        begin = time.perf_counter()
        self._run("run", name, "--image", IMAGE, "--restart=Never", "--command", "--", "sleep", "600")
        self._run("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")
        found = self._run("exec", name, "--", "echo", "hello").strip()
        seconds = time.perf_counter() - begin
        self._run("delete", "pod", name, "--grace-period=1")
        return {"found": found, "seconds": seconds, "peak": 0}

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._kubectl, *words], check=True, capture_output=True, text=True).stdout


def template(command: list[str]) -> dict[str, Any]:
    """A pod that ends at once when told to, and reserves little, so that many fit on one node."""
    mounts = [{"name": "workspace", "mountPath": "/workspace"}, {"name": "tmp", "mountPath": "/tmp"}]
    resources = {"requests": {"memory": "16Mi", "cpu": "50m"}, "limits": {"memory": "256Mi", "cpu": "2"}}
    container = {"name": "sandbox", "command": command, "volumeMounts": mounts, "resources": resources}
    volumes = [{"name": "workspace", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    return {"spec": {"containers": [container], "volumes": volumes, "restartPolicy": "Never"}}


class Bench:
    """Contenders in one namespace."""

    def __init__(self, wanted: argparse.Namespace, namespace: str, kubectl: list[str]) -> None:
        self._wanted, self._namespace, self._kubectl = wanted, namespace, kubectl

    def contender(self, who: str, options: dict[str, Any]) -> Contender:
        waiting = ["sh", "-c", "trap 'exit 0' TERM; sleep 86400 & wait"]
        usual = {
            "namespace": self._namespace,
            "kube_config_path": os.environ["WORKDEN_TEST_KUBECONFIG"],
            "pod_template": template(waiting),
        }
        settings = {
            "image": IMAGE,
            "options": usual | options,
            "label": who,
            "rounds": self._wanted.rounds,
            "kubectl": self._kubectl,
        }
        environment = dict(os.environ, WORKDEN_BENCH_TASKS="pod_tasks", WORKDEN_BENCH_POD=json.dumps(settings))
        is_ours = who != "theirs"
        python = sys.executable if is_ours else self._wanted.reference
        if not is_ours:
            del environment["PYTHONPATH"]
        modules = ("workden" if is_ours else "pydantic_ai_backends", "none")
        scratch = self._wanted.home / f"scratch-pods-{who}"
        return Contender(python, modules, self._wanted.home, scratch, environment)

    def run(self) -> list[Row]:
        rows: list[Row] = []
        theirs = self.contender("theirs", {"mode": "api"})
        for reach, (way, at_least) in WAYS.items():
            ours = self.contender(f"ours-{way}", {"reach": reach})
            for name in FILES:
                rows += self._row(name, f"{name}, {way}", at_least, ours, theirs)
            self._finish(ours)
        ours = self.contender("ours", {})
        first = "create to first output"
        rows += self._row(first, f"{first}, than kubectl", 1, ours, Kubectl(self._kubectl))
        for name in (first, "stop", "20 at once, to first output"):
            rows += self._row(name, name, 1, ours, theirs)
        self._finish(ours, theirs)
        served = {"mode": "http", "pod_template": template(["python3", "-c", SERVER.read_text()])}
        ours, theirs = self.contender("ours", served), self.contender("theirs", served)
        for name in FILES:
            rows += self._row(name, f"{name}, HTTP mode", 1, ours, theirs, slack=EXACT)
        self._finish(ours, theirs)
        return rows

    def _row(
        self, name: str, label: str, at_least: float, ours: Any, theirs: Any, slack: float = 0
    ) -> list[Row]:
        if self._wanted.only not in label:
            return []
        task = next(task for task in TASKS if task.name == name)
        rounds = 2 if name.startswith("20 ") else self._wanted.rounds
        row = measure(task, ours, theirs, rounds)
        row.task = replace(task, name=label, at_least=at_least, slack=slack)
        print(f"... {label}: {row.verdict}", file=sys.stderr, flush=True)
        return [row]

    def _finish(self, *contenders: Contender) -> None:
        for contender in contenders:
            contender.tell({"prepare": "end"})
            contender.end()


@contextmanager
def namespace(kubectl: list[str]) -> Iterator[str]:
    name = f"workden-bench-{uuid.uuid4().hex[:8]}"
    subprocess.run([*kubectl, "create", "namespace", name], check=True, stdout=subprocess.DEVNULL)
    try:
        yield name
    finally:
        subprocess.run([*kubectl, "delete", "namespace", name, "--wait=false"], check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="cargo xtask bench kubernetes", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="where scratch is made")
    parser.add_argument("--reference", required=True, help="the Python that has the other library")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    # The namespace is deleted in any case.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = os.environ.get("WORKDEN_TEST_KUBECTL") or "kubectl"
    kubectl = [program, "--kubeconfig", os.environ["WORKDEN_TEST_KUBECONFIG"]]
    print(f"{wanted.rounds} rounds each, in turn (2 of those with 20 pods); times are minimum / median,")
    print("ratios of medians, peaks of the client's memory theirs / ours\n", flush=True)
    with namespace(kubectl) as name:
        rows = Bench(wanted, name, [*kubectl, "--namespace", name]).run()
    print(table(rows))
    missed = [row.task.name for row in rows if row.verdict != "pass"]
    if missed:
        print(f"\n{len(missed)} of {len(rows)} not as they must be: {', '.join(missed)}")
    return 1 if wanted.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
