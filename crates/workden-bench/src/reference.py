"""The contender pydantic-ai-backend: one task, once per line of input, timed inside.

Speaks the protocol of worker.rs: a line when ready, a line of JSON per round, and one with the
peak memory at the end of the input.
"""

import json
import resource
import shutil
import sys
import time

from pydantic_ai_backends import LocalBackend, StateBackend


def grep(task):
    found = (shutil.which("rg") is not None)
    assert found == task["with_rg"], f"rg on the path: {found}"
    backend = LocalBackend(task["dir"], enable_execute=False)

    def once():
        hits = backend.grep_raw(task["pattern"])
        assert isinstance(hits, list), hits
        return len(hits)

    return once


def glob(task):
    backend = LocalBackend(task["dir"], enable_execute=False)
    return lambda: len(backend.glob_info(task["pattern"]))


def list_(task):
    backend = LocalBackend(task["dir"], enable_execute=False)
    return lambda: len(backend.ls_info("."))


def read_end(task):
    backend = LocalBackend(task["dir"], enable_execute=False)

    def once():
        lines = backend.read(task["file"], task["offset"], task["limit"]).split("\n")
        assert len(lines) == task["limit"], lines[:3]
        return int(lines[-1].split("\t")[0])

    return once


def edit(task):
    backend = LocalBackend(task["dir"], enable_execute=False)
    texts = [task["old"], task["new"]]

    def once():
        result = backend.edit(task["file"], *texts)
        assert result.error is None, result.error
        texts.reverse()
        return result.occurrences

    return once


def state_grep(task):
    backend = StateBackend()
    for number in range(task["files"]):
        lines = []
        for line in range(task["lines"]):
            word = "marigold" if (number + line) % 997 == 0 else "meadow"
            lines.append(f"line {line} of file {number} speaks of {word} and of nothing else\n")
        result = backend.write(f"/area{number % 100}/note{number}.txt", "".join(lines))
        assert result.error is None, result.error

    def once():
        hits = backend.grep_raw(task["pattern"])
        assert isinstance(hits, list), hits
        return len(hits)

    return once


def decide(task):
    from pydantic_ai_backends import DEFAULT_RULESET, PermissionChecker

    checker = PermissionChecker(DEFAULT_RULESET)
    operation, targets, times = task["operation"], task["targets"], task["times"]

    def once():
        denied = 0
        for _ in range(times):
            for target in targets:
                denied += checker.check_sync(operation, target) == "deny"
        return denied

    return once


def peak_kib():
    with open("/proc/self/status") as status:
        own = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def main():
    task = json.loads(sys.argv[1])
    tasks = {
        "grep": grep,
        "glob": glob,
        "list": list_,
        "read_end": read_end,
        "edit": edit,
        "state_grep": state_grep,
        "decide": decide,
    }
    once = tasks[task["task"]](task)
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        count = once()
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "count": count}), flush=True)
    print(json.dumps({"peak_kib": peak_kib()}), flush=True)


main()
