"""Converts permissions in any accepted form into rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from workden.permissions import PermissionRuleset

Permissions = Union["PermissionRuleset", Mapping[str, Any], str]
"""A ruleset, an equivalent dictionary, or the name of a preset: `default`, `permissive`, `readonly`, `strict`."""


def rules_of(permissions: Permissions | None) -> str | None:
    """Returns the rules as JSON."""
    if permissions is None:
        return None
    return ruleset(permissions).model_dump_json()


def ruleset(permissions: Permissions) -> PermissionRuleset:
    """Returns the validated ruleset."""
    from workden import permissions as known

    if isinstance(permissions, str):
        name = permissions.upper().removesuffix("_RULESET")
        presets = ("DEFAULT", "PERMISSIVE", "READONLY", "STRICT")
        if name not in presets:
            names = ", ".join(preset.lower() for preset in presets)
            raise ValueError(f"unknown permission preset {permissions!r}; use one of: {names}")
        return getattr(known, f"{name}_RULESET")
    if isinstance(permissions, Mapping):
        return known.PermissionRuleset.model_validate(permissions)
    return permissions


def asks_by_default(rules: str, operation: str) -> bool:
    """Whether an operation requires approval when no rule matches."""
    read: dict[str, Any] = json.loads(rules)
    return (read.get(operation) or read).get("default") == "ask"
