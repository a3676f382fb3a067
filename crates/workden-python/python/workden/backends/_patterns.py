"""Path patterns: approximate ones for `find`, and exact ones for the native search."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workden._native import Failure, NativeWorkspace

if TYPE_CHECKING:
    from workden.types import FileData

_MOST_ALTERNATIVES = 256
"""Limit for expanded patterns; consecutive braces multiply."""
_EMPTY: FileData = {"content": [], "created_at": "", "modified_at": ""}


def alternatives(pattern: str) -> list[str] | None:
    """Expands the braces of a pattern like `{a,b}`; returns `None` if the result is too large."""
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
    """Escapes a path into a pattern that matches only itself."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", path)


def below(start: str, pattern: str) -> str:
    """Returns `find` conditions that cover at least the matching files below `start`."""
    prefix = escaped(start.rstrip("/") + "/")
    # In `find`, `*` also matches slashes.
    words = [shlex.quote(prefix + re.sub(r"\*\*/?", "*", each)) for each in alternatives(pattern) or ["**"]]
    return "\\( " + " -o ".join(f"-path {word}" for word in words) + " \\)"


def named(pattern: str | None) -> str:
    """Returns `find` conditions for a file name at any depth, or for a path if the pattern contains `/`.

    Raises `ValueError` for a pattern that expands to too many others.
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
    """Returns `find` conditions that skip hidden entries below `start`, which may be hidden itself."""
    return f"\\( -name '.?*' ! -path {shlex.quote(escaped(start))} \\) -prune -o"


def matching(pattern: str, paths: Iterable[str]) -> set[str]:
    """Returns the relative paths that match: `*` and `?` stop at `/`, `**` does not. An invalid pattern matches
    nothing.

    The native search runs in linear time, which matters because a model writes the patterns.
    """
    spelled: dict[str, list[str]] = {}
    for path in paths:
        # Names that are not valid UTF-8 are matched as they are displayed.
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        spelled.setdefault(f"/{shown}", []).append(path)
    try:
        found = NativeWorkspace.state({path: _EMPTY for path in spelled}).glob(pattern, "/")
    except (Failure, UnicodeEncodeError):
        return set()
    return {path for info in found for path in spelled[info["path"]]}


def extended(pattern: str) -> str:
    """Rewrites a regular expression for `grep -E`, which lacks some notations."""
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
