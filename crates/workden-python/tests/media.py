"""A minimal image and a minimal document."""

from __future__ import annotations

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c633cc125c7c0c0c0c4c0c0c0c0"
    "c000000c1400f4e9673f130000000049454e44ae426082"
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>"
