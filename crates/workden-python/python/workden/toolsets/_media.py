"""File types that are passed to a model unchanged."""

from __future__ import annotations

IMAGE_EXTENSIONS = frozenset({"png", "jpg", "jpeg", "gif", "webp"})
"""Suffixes of images. The content decides whether a file is one."""
IMAGE_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
"""Media types of images."""
DEFAULT_MAX_IMAGE_BYTES = 50 * 1024 * 1024
"""Maximum size of an image in bytes."""
DEFAULT_MAX_IMAGE_DIMENSION = 1568
"""Maximum length of the longer side of an image in pixels: larger ones are scaled down."""
DOCUMENT_EXTENSIONS = frozenset({"pdf"})
"""Suffixes of documents."""
DOCUMENT_MEDIA_TYPES = {"pdf": "application/pdf"}
"""Media types of documents."""
DEFAULT_MAX_DOCUMENT_BYTES = 50 * 1024 * 1024
"""Maximum size in bytes of a document that is passed on unchanged."""


def extension_of(path: str) -> str:
    """Returns the text after the last dot, in lower case."""
    return path.rpartition(".")[2].lower()
