"""Patterns of paths: for `find`, which is not exact, and for our own search, which is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workden._native import Failure, Place

if TYPE_CHECKING:
    from workden.types import FileData

_MOST_ALTERNATIVES = 256
"""More than anybody means; braces in a row are a product of what is in them."""
_EMPTY: FileData = {"content": [], "created_at": "", "modified_at": ""}


def alternatives(pattern: str) -> list[str] | None:
    """The patterns without braces that a pattern with `{a,b}` stands for; `None`, if they are too many."""
    done: list[str] = []
    left = [pattern]
    while left:
        each = left.pop()
        inner = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if inner is None:
            done.append(each)
        else:
            before, after = each[: inner.start()], each[inner.end() :]
            left += [before + choice + after for choice in reversed(inner[1].split(","))]
        if len(done) + len(left) > _MOST_ALTERNATIVES:
            return None
    return done


def escaped(path: str) -> str:
    """A path as a pattern that matches itself only."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", path)


def below(start: str, pattern: str) -> str:
    """Conditions of `find` that hold at least for the files below `start` that match."""
    prefix = escaped(start.rstrip("/") + "/")
    # To `find` a `*` is anything, slashes included.
    words = [shlex.quote(prefix + re.sub(r"\*\*/?", "*", each)) for each in alternatives(pattern) or ["**"]]
    return "\\( " + " -o ".join(f"-path {word}" for word in words) + " \\)"


def named(pattern: str | None) -> str:
    """Conditions of `find` for files of a name, at any depth; of a path, if the pattern has a `/`.

    Raises `ValueError` for a pattern that stands for too many others.
    """
    if not pattern:
        return ""
    words = alternatives(pattern)
    if words is None:
        raise ValueError(f"it stands for more than {_MOST_ALTERNATIVES} others")
    tests = [f"-path {shlex.quote('*/' + re.sub(r'[*]{2}/?', '*', each.lstrip('/')))}" for each in words]
    if "/" not in pattern:
        tests = [f"-name {shlex.quote(each)}" for each in words]
    return "\\( " + " -o ".join(tests) + " \\)"


def not_hidden(start: str) -> str:
    """Conditions of `find` that skip what is hidden below `start`, which may be hidden itself."""
    return f"\\( -name '.?*' ! -path {shlex.quote(escaped(start))} \\) -prune -o"


def matching(pattern: str, paths: Iterable[str]) -> set[str]:
    """The paths, relative to the start, that match: `*` and `?` stop at a `/`, `**` does not. Of a pattern that is none,
    nothing.

    The native half looks, in a time that no pattern makes long: a model writes them.
    """
    spelled: dict[str, list[str]] = {}
    for path in paths:
        # Names that are no text are looked at as people see them.
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        spelled.setdefault(f"/{shown}", []).append(path)
    try:
        found = Place.state({path: _EMPTY for path in spelled}).glob(pattern, "/")
    except (Failure, UnicodeEncodeError):
        return set()
    return {path for info in found for path in spelled[info["path"]]}


def extended(pattern: str) -> str:
    """A regular expression as people write it, for `grep -E`, which lacks a few spellings."""
    parts: list[str] = []
    is_in_class = False
    for token in re.findall(r"\\.|\(\?:|.", pattern, re.DOTALL):
        if token in ("\\d", "\\D"):
            inside = "0-9" if token == "\\d" else "^0-9"
            token = inside if is_in_class else f"[{inside}]"
        elif token == "\\t":
            token = "\t"
        elif token == "(?:" and not is_in_class:
            token = "("
        elif token == "[":
            is_in_class = True
        elif token == "]" and parts[-1:] not in (["["], ["^"]):
            is_in_class = False
        parts.append(token)
    return "".join(parts)
