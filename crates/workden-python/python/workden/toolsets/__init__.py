"""Console tools for Pydantic AI agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workden.toolsets.console import (
        CONSOLE_SYSTEM_PROMPT,
        EDIT_FILE_DESCRIPTION,
        EXECUTE_DESCRIPTION,
        GLOB_DESCRIPTION,
        GREP_DESCRIPTION,
        HASHLINE_EDIT_DESCRIPTION,
        HASHLINE_READ_FILE_DESCRIPTION,
        LS_DESCRIPTION,
        READ_FILE_DESCRIPTION,
        WRITE_FILE_DESCRIPTION,
        ConsoleDeps,
        ConsoleToolset,
        create_console_toolset,
        get_console_system_prompt,
    )

__all__ = [
    "CONSOLE_SYSTEM_PROMPT",
    "EDIT_FILE_DESCRIPTION",
    "EXECUTE_DESCRIPTION",
    "GLOB_DESCRIPTION",
    "GREP_DESCRIPTION",
    "HASHLINE_EDIT_DESCRIPTION",
    "HASHLINE_READ_FILE_DESCRIPTION",
    "LS_DESCRIPTION",
    "READ_FILE_DESCRIPTION",
    "WRITE_FILE_DESCRIPTION",
    "ConsoleDeps",
    "ConsoleToolset",
    "create_console_toolset",
    "get_console_system_prompt",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from workden.toolsets import console

        return getattr(console, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
