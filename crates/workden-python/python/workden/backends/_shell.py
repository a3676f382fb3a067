"""Files by way of nothing but a shell: the commands, and how their answers are read.

Invariants: nothing of a caller becomes part of a command unless it is quoted; bytes travel as base64, so that
what a shell, a terminal or a decoder makes of them does not matter; and neither a command nor an answer is ever
longer than what every shell and every `execute` lets through.
"""

from __future__ import annotations

import base64
import posixpath
import shlex
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workden.types import ExecuteResponse

Execute = Callable[[str], "ExecuteResponse"]

CHUNK = 48_000
"""Bytes that go in one command or come in one answer: with base64 around them 64,000 characters."""
NOT_FOUND, IS_DIRECTORY, NO_FILE, BAD_PATTERN = 44, 45, 46, 47
"""What our scripts exit with."""


@dataclass
class Ran:
    """What became of a script: its exit code, all that it printed, and what it complained about."""

    code: int
    output: bytes
    complaint: str


def quoted(path: str) -> str:
    """A path as one word that no program takes for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def run(execute: Execute, script: str) -> Ran:
    """Runs a script and fetches all that it prints, byte by byte, however much that is."""
    answer = execute(
        f't=$(mktemp) && {{ (\n{script}\n) >"$t" 2>"$t.e" </dev/null; c=$?; n=$(($(wc -c <"$t"))); echo "$c $n $t"; '
        f'head -c {CHUNK} "$t" | base64; echo -; head -c 4000 "$t.e" | base64; '
        f'rm -f "$t.e"; [ "$n" -gt {CHUNK} ] || rm -f "$t"; }}'
    )
    first, _, rest = answer.output.partition("\n")
    words = first.split(" ", 2)
    if answer.exit_code or len(words) != 3 or not words[0].isdigit() or not words[1].isdigit():
        return Ran(answer.exit_code or 1, b"", answer.output.strip())
    head, _, complaint = rest.partition("\n-\n") if not rest.startswith("-\n") else ("", "", rest[2:])
    output = base64.b64decode(head)
    size, file = int(words[1]), shlex.quote(words[2])
    while len(output) < size:
        part = execute(f"tail -c +{len(output) + 1} {file} | head -c {CHUNK} | base64")
        piece = base64.b64decode(part.output) if part.exit_code == 0 else b""
        if not piece:
            execute(f"rm -f {file}")
            return Ran(part.exit_code or 1, b"", part.output.strip() or "the output could not be fetched")
        output += piece
    if size > CHUNK:
        execute(f"rm -f {file}")
    return Ran(int(words[0]), output, base64.b64decode(complaint).decode(errors="replace").strip())


def write(execute: Execute, path: str, content: bytes) -> str | None:
    """Writes a file, whole or not at all. What went wrong, if anything did."""
    fresh = f".workden-{uuid.uuid4().hex[:12]}"
    # A link is followed, as everybody expects of a write; the new file is beside what it leads to.
    begin = f'f={quoted(path)}; [ ! -L "$f" ] || f=$(readlink -f "$f"); t=$(dirname "$f")/{fresh}; '
    make = (
        f"mkdir -p {quoted(posixpath.dirname(path) or '.')} && "
        'if [ -d "$f" ]; then echo "Is a directory"; false; else { [ ! -f "$f" ] || cp -p "$f" "$t"; } && : >"$t"; fi'
    )
    pieces = [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)] or [b""]
    for at, piece in enumerate(pieces):
        put = f'printf %s {base64.b64encode(piece).decode()} | base64 -d >>"$t"'
        steps = [make] * (at == 0) + [put] + ['mv -f "$t" "$f"'] * (at == len(pieces) - 1)
        answer = execute(begin + "{ " + " && ".join(steps) + '; } || { rm -f "$t"; exit 1; }')
        if answer.exit_code:
            return answer.output.strip() or f"the command failed with exit code {answer.exit_code}"
    return None


def listing(path: str) -> str:
    """A script that tells what is in a directory; of a file, that file."""
    start = quoted(path)
    return (
        f"[ -e {start} ] || exit {NOT_FOUND}\n"
        f"if [ -d {start} ]; then find -H {start} -mindepth 1 -maxdepth 1 {_TELL}; else find -H {start} {_TELL}; fi"
    )


def searching(path: str, conditions: str) -> str:
    """A script that tells of the files below a directory that fulfil conditions of `find`."""
    start = quoted(path)
    # What the kernel makes up has no end.
    skip = "\\( -path /proc -o -path /sys -o -path /dev \\) -prune -o" if posixpath.normpath(path) == "/" else ""
    return f"[ -d {start} ] || exit {NOT_FOUND}\nfind -H {start} {skip} -type f {conditions} {_TELL} 2>/dev/null; :"


@dataclass
class Told:
    """A file or a directory, as one of these scripts tells of it."""

    path: str
    is_dir: bool
    size: int | None


def told(output: bytes) -> list[Told]:
    """What such a script has told of."""
    all: list[Told] = []
    parts = output.split(b"\0")
    at = 0
    while at < len(parts) - 1:
        end = parts.index(b"", at)
        names = [name.decode(errors="surrogateescape") for name in parts[at:end]]
        sizes = parts[end + 1].split()
        for name, size in zip(names, sizes):
            is_dir = name.startswith("d")
            all.append(Told(name[1:], is_dir, int(size) if size.isdigit() and not is_dir else None))
        at = end + 2
    return all


def reading(path: str, offset: int, limit: int) -> str:
    """A script that tells how many lines a file has, and prints some."""
    file = quoted(path)
    return (
        f"[ ! -d {file} ] || exit {IS_DIRECTORY}\n[ -e {file} ] || exit {NOT_FOUND}\n[ -f {file} ] || exit {NO_FILE}\n"
        f"awk 'END {{ print NR }}' <{file} && tail -n +{offset + 1} <{file} | head -n {limit}"
    )


def all_of(path: str) -> str:
    """A script that prints a file."""
    file = quoted(path)
    return f"[ -f {file} ] || exit {NOT_FOUND}\ncat <{file}"


def grepping(pattern: str, path: str, conditions: str, hidden: str) -> str:
    """A script that tells which lines match, file by file."""
    start, wanted = quoted(path), shlex.quote(pattern)
    return (
        f"e=$(echo | grep -E -e {wanted} 2>&1 >/dev/null)\n"
        f'case "$e" in ""|*warning:*) ;; *) echo "$e" >&2; exit {BAD_PATTERN};; esac\n'
        f"if [ -d {start} ]; then find -H {start} {hidden} -type f {conditions} -exec sh -c {_GREP} sh {wanted} {{}} +\n"
        f"elif [ -f {start} ]; then find -H {start} -exec sh -c {_GREP} sh {wanted} {{}} +\n"
        f"else exit {NOT_FOUND}; fi 2>/dev/null; c=$?; [ $c = {NOT_FOUND} ] && exit $c; :"
    )


def matches(output: bytes) -> list[tuple[str, int, str]]:
    """What such a script has told: file, number of the line, line."""
    parts = output.split(b"\0")
    found: list[tuple[str, int, str]] = []
    for name, lines in zip(parts[::2], parts[1::2]):
        for line in lines.decode(errors="replace").split("\n"):
            number, colon, text = line.partition(":")
            # What is said of a binary file is no line.
            if colon and number.isdigit():
                found.append((name.decode(errors="surrogateescape"), int(number), text.rstrip("\r")))
    return found


# Names, each with what it is in front and a NUL behind; an empty one; sizes. One program for many files.
_TELL = "-exec sh -c " + shlex.quote(
    'for f do if [ -d "$f" ]; then printf "d%s\\0" "$f"; else printf "f%s\\0" "$f"; fi; done; printf "\\0"\n'
    's=$(stat -L -c %s -- "$@" 2>/dev/null) || s=$(for f do stat -L -c %s -- "$f" 2>/dev/null || echo -; done)\n'
    'printf "%s\\0" "$s"'
) + " sh {} +"

# Most files have no match: many are looked at together first, and one by one only where there is something.
_GREP = shlex.quote(
    'p=$1; shift; grep -sqE -e "$p" -- "$@" || exit 0\n'
    'for f do m=$(grep -snE -e "$p" -- "$f" </dev/null) && printf "%s\\0%s\\0" "$f" "$m"; done; :'
)
