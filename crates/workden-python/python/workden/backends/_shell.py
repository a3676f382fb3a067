"""File operations through a shell: the scripts, and the parsers of their output.

Invariants: caller input becomes part of a command only after quoting; bytes travel as base64, so that no shell,
terminal or decoder changes them; commands and answers stay below the limits of every shell and every `execute`.
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
"""Bytes per command or answer: 64,000 characters in base64."""
NOT_FOUND, IS_DIRECTORY, NO_FILE, BAD_PATTERN = 44, 45, 46, 47
"""Exit codes of the scripts."""


@dataclass
class ShellResult:
    """Result of a script: exit code, complete output, and error text."""

    code: int
    output: bytes
    complaint: str


def quoted(path: str) -> str:
    """Quotes a path as one word that is not mistaken for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def run(execute: Execute, script: str) -> ShellResult:
    """Runs a script and fetches its complete output, of any size."""
    answer = execute(
        f't=$(mktemp) && {{ (\n{script}\n) >"$t" 2>"$t.e" </dev/null; c=$?; n=$(($(wc -c <"$t"))); echo "$c $n $t"; '
        f'head -c {CHUNK} "$t" | base64; echo -; head -c 4000 "$t.e" | base64; '
        f'rm -f "$t.e"; [ "$n" -gt {CHUNK} ] || rm -f "$t"; }}'
    )
    first, _, rest = answer.output.partition("\n")
    words = first.split(" ", 2)
    if answer.exit_code or len(words) != 3 or not words[0].isdigit() or not words[1].isdigit():
        return ShellResult(answer.exit_code or 1, b"", answer.output.strip())
    head, _, complaint = rest.partition("\n-\n") if not rest.startswith("-\n") else ("", "", rest[2:])
    output = base64.b64decode(head)
    size, file = int(words[1]), shlex.quote(words[2])
    while len(output) < size:
        part = execute(f"tail -c +{len(output) + 1} {file} | head -c {CHUNK} | base64")
        piece = base64.b64decode(part.output) if part.exit_code == 0 else b""
        if not piece:
            execute(f"rm -f {file}")
            return ShellResult(part.exit_code or 1, b"", part.output.strip() or "the output could not be fetched")
        output += piece
    if size > CHUNK:
        execute(f"rm -f {file}")
    return ShellResult(int(words[0]), output, base64.b64decode(complaint).decode(errors="replace").strip())


def write(execute: Execute, path: str, content: bytes) -> str | None:
    """Writes a file atomically. Returns the error, if any."""
    fresh = f".workden-{uuid.uuid4().hex[:12]}"
    # A link is followed; the temporary file is created beside its target.
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


def list_script(path: str) -> str:
    """Returns a script that lists a directory, or a single file."""
    start = quoted(path)
    return (
        f"[ -e {start} ] || exit {NOT_FOUND}\n"
        f"if [ -d {start} ]; then find -H {start} -mindepth 1 -maxdepth 1 {_PRINT_ENTRY}; else find -H {start} {_PRINT_ENTRY}; fi"
    )


def find_script(path: str, conditions: str) -> str:
    """Returns a script that lists the files below a directory that satisfy conditions of `find`."""
    start = quoted(path)
    # Kernel file systems have no end.
    skip = "\\( -path /proc -o -path /sys -o -path /dev \\) -prune -o" if posixpath.normpath(path) == "/" else ""
    return f"[ -d {start} ] || exit {NOT_FOUND}\nfind -H {start} {skip} -type f {conditions} {_PRINT_ENTRY} 2>/dev/null; :"


@dataclass
class Entry:
    """A file or a directory in the output of a script."""

    path: str
    is_dir: bool
    size: int | None


def parse_entries(output: bytes) -> list[Entry]:
    """Parses the entries in the output of a script."""
    all: list[Entry] = []
    parts = output.split(b"\0")
    at = 0
    while at < len(parts) - 1:
        end = parts.index(b"", at)
        names = [name.decode(errors="surrogateescape") for name in parts[at:end]]
        sizes = parts[end + 1].split()
        for name, size in zip(names, sizes):
            is_dir = name.startswith("d")
            all.append(Entry(name[1:], is_dir, int(size) if size.isdigit() and not is_dir else None))
        at = end + 2
    return all


def read_script(path: str, offset: int, limit: int) -> str:
    """Returns a script that counts the lines of a file, and prints some of them."""
    file = quoted(path)
    return (
        f"[ ! -d {file} ] || exit {IS_DIRECTORY}\n[ -e {file} ] || exit {NOT_FOUND}\n[ -f {file} ] || exit {NO_FILE}\n"
        f"awk 'END {{ print NR }}' <{file} && tail -n +{offset + 1} <{file} | head -n {limit}"
    )


def cat_script(path: str) -> str:
    """Returns a script that prints a file."""
    file = quoted(path)
    return f"[ -f {file} ] || exit {NOT_FOUND}\ncat <{file}"


def grep_script(pattern: str, path: str, conditions: str, hidden: str) -> str:
    """Returns a script that prints the matching lines by file."""
    start, wanted = quoted(path), shlex.quote(pattern)
    return (
        f"e=$(echo | grep -E -e {wanted} 2>&1 >/dev/null)\n"
        f'case "$e" in ""|*warning:*) ;; *) echo "$e" >&2; exit {BAD_PATTERN};; esac\n'
        f"if [ -d {start} ]; then find -H {start} {hidden} -type f {conditions} -exec sh -c {_GREP} sh {wanted} {{}} +\n"
        f"elif [ -f {start} ]; then find -H {start} -exec sh -c {_GREP} sh {wanted} {{}} +\n"
        f"else exit {NOT_FOUND}; fi 2>/dev/null; c=$?; [ $c = {NOT_FOUND} ] && exit $c; :"
    )


def matches(output: bytes) -> list[tuple[str, int, str]]:
    """Parses matches: file, line number, line."""
    parts = output.split(b"\0")
    found: list[tuple[str, int, str]] = []
    for name, lines in zip(parts[::2], parts[1::2]):
        for line in lines.decode(errors="replace").split("\n"):
            number, colon, text = line.partition(":")
            # A notice about a binary file is not a match.
            if colon and number.isdigit():
                found.append((name.decode(errors="surrogateescape"), int(number), text.rstrip("\r")))
    return found


# Prints names with a type prefix and a NUL terminator, an empty name, then sizes. One process handles many files.
_PRINT_ENTRY = "-exec sh -c " + shlex.quote(
    'for f do if [ -d "$f" ]; then printf "d%s\\0" "$f"; else printf "f%s\\0" "$f"; fi; done; printf "\\0"\n'
    's=$(stat -L -c %s -- "$@" 2>/dev/null) || s=$(for f do stat -L -c %s -- "$f" 2>/dev/null || echo -; done)\n'
    'printf "%s\\0" "$s"'
) + " sh {} +"

# Most files have no match: check many at once, and search single files only where needed.
_GREP = shlex.quote(
    'p=$1; shift; grep -sqE -e "$p" -- "$@" || exit 0\n'
    'for f do m=$(grep -snE -e "$p" -- "$f" </dev/null) && printf "%s\\0%s\\0" "$f" "$m"; done; :'
)
