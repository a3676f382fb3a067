"""Patterns of paths: for `find`, which is not exact, and as regular expressions, which are."""

from __future__ import annotations

import re
import shlex


def alternatives(pattern: str) -> list[str]:
    """The patterns without braces that a pattern with `{a,b}` stands for."""
    inner = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if inner is None:
        return [pattern]
    before, after = pattern[: inner.start()], pattern[inner.end() :]
    return [each for choice in inner[1].split(",") for each in alternatives(before + choice + after)]


def escaped(path: str) -> str:
    """A path as a pattern that matches itself only."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", path)


def below(start: str, pattern: str) -> str:
    """Conditions of `find` that hold at least for the files below `start` that match."""
    prefix = escaped(start.rstrip("/") + "/")
    # To `find` a `*` is anything, slashes included.
    words = [shlex.quote(prefix + re.sub(r"\*\*/?", "*", each)) for each in alternatives(pattern)]
    return "\\( " + " -o ".join(f"-path {word}" for word in words) + " \\)"


def named(pattern: str | None) -> str:
    """Conditions of `find` for files of a name, at any depth; of a path, if the pattern has a `/`."""
    if not pattern:
        return ""
    words = alternatives(pattern)
    tests = [f"-path {shlex.quote('*/' + re.sub(r'[*]{2}/?', '*', each.lstrip('/')))}" for each in words]
    if "/" not in pattern:
        tests = [f"-name {shlex.quote(each)}" for each in words]
    return "\\( " + " -o ".join(tests) + " \\)"


def not_hidden(start: str) -> str:
    """Conditions of `find` that skip what is hidden below `start`, which may be hidden itself."""
    return f"\\( -name '.?*' ! -path {shlex.quote(escaped(start))} \\) -prune -o"


def expression(pattern: str) -> re.Pattern[str]:
    """Whether a path relative to the start matches: `*` and `?` stop at a `/`, `**` does not."""
    return re.compile("|".join(_expression(each) for each in alternatives(pattern)), re.DOTALL)


def _expression(pattern: str) -> str:
    parts: list[str] = []
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|.", pattern, re.DOTALL):
        if token == "**/":
            parts.append("(?:.*/)?")
        elif token == "**":
            parts.append(".*")
        elif token == "*":
            parts.append("[^/]*")
        elif token == "?":
            parts.append("[^/]")
        elif len(token) > 1:
            inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
            parts.append(f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
        else:
            parts.append(re.escape(token))
    return "".join(parts)


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
