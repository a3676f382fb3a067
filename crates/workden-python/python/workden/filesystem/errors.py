"""Refusals of a sandbox. The messages say what is allowed, quote paths as they were typed, and contain no host
paths."""

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
"""Maximum length of quoted text in an error."""


class SandboxError(Exception):
    """A sandbox refused an operation, or it failed. `message` is for the caller."""

    def __init__(self, message: str = "") -> None:
        self.message = message
        super().__init__(message)


class PathNotInSandboxError(SandboxError):
    """The path is not in a directory of the sandbox."""

    def __init__(self, path: str, readable_roots: list[str]) -> None:
        self.path = path
        self.readable_roots = readable_roots
        super().__init__(
            f"Cannot access '{path}': path is outside sandbox.\nReadable paths: {_listed(readable_roots)}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.readable_roots)


class PathNotWritableError(SandboxError):
    """The path is read-only."""

    def __init__(self, path: str, writable_roots: list[str]) -> None:
        self.path = path
        self.writable_roots = writable_roots
        super().__init__(f"Cannot write to '{path}': path is read-only.\nWritable paths: {_listed(writable_roots)}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.writable_roots)


class SuffixNotAllowedError(SandboxError):
    """The suffix of the file is not allowed there."""

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
    """The file is, or would become, larger than is allowed there."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        self.path = path
        self.size = size
        self.limit = limit
        super().__init__(f"Cannot read '{path}': file too large ({size:,} bytes).\nMaximum allowed: {limit:,} bytes")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.size, self.limit)


class EditError(SandboxError):
    """The text to replace does not occur exactly once."""

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
    """A derived sandbox would have more rights than its parent."""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
