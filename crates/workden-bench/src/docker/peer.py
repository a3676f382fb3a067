"""pydantic-ai-backend's DockerSandbox: does what each line of input says, timed inside.

A line of JSON in, a line of JSON out: how many seconds it took, and what was found, so that the other side
can tell that the work was the same.
"""

import asyncio
import json
import sys
import time

from pydantic_ai_backends import DockerSandbox, SessionManager

image = sys.argv[1]


def new(session_id=None):
    return DockerSandbox(image=image, session_id=session_id, network_mode="none")


def remove(sandbox):
    """Without the ten seconds of its own stop."""
    sandbox._container.remove(force=True)
    sandbox._container = None


def executed(sandbox, command, expected=""):
    answer = sandbox.execute(command)
    assert (answer.exit_code, answer.output) == (0, expected), answer
    return 1


def wrote(result):
    assert result.error is None, result.error
    return result


def found(rows):
    assert isinstance(rows, list), rows
    return len(rows)


class Orders:
    """What can be asked; each answers what is to be timed, and what comes after it, untimed."""

    def start(self):
        self.live = new()
        self.live.start()
        return lambda: 0, None

    def execute(self, command):
        return lambda: executed(self.live, command), None

    def read(self, path):
        return lambda: len(self.live.read_bytes(path)), None

    def write(self, path, size):
        content = "x" * size
        return lambda: wrote(self.live.write(path, content)) and size, None

    def list(self, path):
        return lambda: found(self.live.ls_info(path)), None

    def glob(self, path, pattern):
        return lambda: found(self.live.glob_info(pattern, path)), None

    def grep(self, path, pattern):
        return lambda: found(self.live.grep_raw(pattern, path)), None

    def edit(self, path, old, new):
        return lambda: wrote(self.live.edit(path, old, new)).occurrences, None

    def first_output(self):
        made = []

        def once():
            made.append(new())
            return executed(made[0], "echo hi", "hi\n")

        return once, lambda: remove(made[0])

    def sessions(self, number):
        async def open_all():
            manager = SessionManager(sandbox_factory=new)
            names = [f"session-{index}" for index in range(number)]
            opened = await asyncio.gather(*(manager.get_or_create(name) for name in names))
            return opened, sum(executed(sandbox, "true") for sandbox in opened)

        made = []

        def once():
            opened, used = asyncio.run(open_all())
            made.extend(opened)
            return used

        return once, lambda: [remove(sandbox) for sandbox in made]

    def stop(self):
        def once():
            self.live.stop()
            return 1

        return once, None


def main():
    orders = Orders()
    for line in sys.stdin:
        order = json.loads(line)
        timed, after = getattr(orders, order.pop("order"))(**order)
        started = time.perf_counter()
        count = timed()
        seconds = time.perf_counter() - started
        if after is not None:
            after()
        print(json.dumps({"seconds": seconds, "count": count}), flush=True)


main()
