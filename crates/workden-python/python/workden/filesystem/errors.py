"""What a sandbox refuses, in sentences that say what is allowed instead. They show paths as they were typed, and no
path of the host."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "EditError",
    "FileTooLargeError",
    "PathNotInSandboxError",
    "PathNotWritableError",
    "SandboxError",
    "SandboxPermissionEscalationError",
    "SuffixNotAllowedError",
]

_SHOWN_CHARS = 100
"""How much of a text that was looked for an error shows."""


class SandboxError(Exception):
    """Something that a sandbox refuses or cannot do. `message` is for whoever asked for it."""

    def __init__(self, message: str = "") -> None:
        self.message = message
        super().__init__(message)


class PathNotInSandboxError(SandboxError):
    """A path that is in no directory of the sandbox."""

    def __init__(self, path: str, readable_roots: list[str]) -> None:
        self.path = path
        self.readable_roots = readable_roots
        super().__init__(
            f"Cannot access '{path}': path is outside sandbox.\nReadable paths: {_listed(readable_roots)}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.readable_roots)


class PathNotWritableError(SandboxError):
    """A path that may be read, and is to be changed."""

    def __init__(self, path: str, writable_roots: list[str]) -> None:
        self.path = path
        self.writable_roots = writable_roots
        super().__init__(f"Cannot write to '{path}': path is read-only.\nWritable paths: {_listed(writable_roots)}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.writable_roots)


class SuffixNotAllowedError(SandboxError):
    """A file whose name ends in something that is not allowed there."""

    def __init__(self, path: str, suffix: str, allowed: list[str]) -> None:
        self.path = path
        self.suffix = suffix
        self.allowed = allowed
        super().__init__(
            f"Cannot access '{path}': suffix '{suffix}' not allowed.\nAllowed suffixes: {_listed(allowed)}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.suffix, self.allowed)


class FileTooLargeError(SandboxError):
    """A file that is, or would become, larger than is allowed there."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        self.path = path
        self.size = size
        self.limit = limit
        super().__init__(f"Cannot read '{path}': file too large ({size:,} bytes).\nMaximum allowed: {limit:,} bytes")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.size, self.limit)


class EditError(SandboxError):
    """A text that is to be replaced, and is not in the file exactly once."""

    def __init__(self, path: str, reason: str, old_text: str) -> None:
        self.path = path
        self.reason = reason
        self.old_text = old_text
        shown = old_text if len(old_text) <= _SHOWN_CHARS else f"{old_text[:_SHOWN_CHARS]}..."
        shown = shown.replace("\n", "\\n")
        super().__init__(f"Cannot edit '{path}': {reason}.\nSearched for: {shown!r}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.reason, self.old_text)


class SandboxPermissionEscalationError(SandboxError):
    """A derived sandbox that would be able to do more than the one it comes from."""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
