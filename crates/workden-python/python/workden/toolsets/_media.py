"""Which files a model is shown as they are."""

from __future__ import annotations

IMAGE_EXTENSIONS = frozenset({"png", "jpg", "jpeg", "gif", "webp"})
"""Endings of images. The bytes decide whether it is one."""
IMAGE_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
"""What images are called on the wire."""
DEFAULT_MAX_IMAGE_BYTES = 50 * 1024 * 1024
"""The most bytes of an image that is read."""
DEFAULT_MAX_IMAGE_DIMENSION = 1568
"""The most pixels that a shown image has at its longer side: a larger one is made smaller."""
DOCUMENT_EXTENSIONS = frozenset({"pdf"})
"""Endings of documents."""
DOCUMENT_MEDIA_TYPES = {"pdf": "application/pdf"}
"""What documents are called on the wire."""
DEFAULT_MAX_DOCUMENT_BYTES = 50 * 1024 * 1024
"""The most bytes of a document that is shown as it is."""


def extension_of(path: str) -> str:
    """What comes after the last dot, in lower case."""
    return path.rpartition(".")[2].lower()
