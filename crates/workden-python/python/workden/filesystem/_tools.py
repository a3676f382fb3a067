"""The seven tools: their descriptions and arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workden.filesystem.results import DEFAULT_MAX_READ_CHARS

MALFORMED = "workden_malformed"
"""Key for arguments of a model that are not an object."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadFileArgs(_Arguments):
    """Arguments of `read_file`."""

    path: str = Field(description="The file to read")
    max_chars: int = Field(default=DEFAULT_MAX_READ_CHARS, ge=0, description="Maximum number of characters to read")
    offset: int = Field(default=0, ge=0, description="Number of characters to skip")


class WriteFileArgs(_Arguments):
    """Arguments of `write_file`."""

    path: str = Field(description="The file to write; missing directories are created")
    content: str = Field(description="The complete content of the file")


class ListFilesArgs(_Arguments):
    """Arguments of `list_files`."""

    path: str = Field(default=".", description="The directory to list; '.' for everything")
    pattern: str = Field(
        default="**/*", description="Glob pattern relative to that directory: * within a name, ** across directories"
    )


class EditFileArgs(_Arguments):
    """Arguments of `edit_file`."""

    path: str = Field(description="The file to edit")
    old_text: str = Field(description="The text to replace, exactly as in the file, where it must occur once")
    new_text: str = Field(description="The replacement text")


class DeleteFileArgs(_Arguments):
    """Arguments of `delete_file`."""

    path: str = Field(description="The file to delete; of a link, the link itself is deleted")


class MoveFileArgs(_Arguments):
    """Arguments of `move_file`."""

    source: str = Field(description="The file to move")
    destination: str = Field(description="The new path, including the name; it must not exist")


class CopyFileArgs(_Arguments):
    """Arguments of `copy_file`."""

    source: str = Field(description="The file to copy")
    destination: str = Field(description="The path of the copy, including the name; it must not exist")


@dataclass(frozen=True)
class Tool:
    """One tool."""

    method: str
    """The method of the toolset that implements it."""
    arguments: type[BaseModel]
    description: str

    def schema(self) -> dict[str, Any]:
        """Returns the JSON schema of the arguments."""
        schema = self.arguments.model_json_schema()
        del schema["title"], schema["description"]
        for parameter in schema["properties"].values():
            del parameter["title"]
        return schema

    def parsed(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments with defaults filled in. Raises `ValueError` with a sentence for a model."""
        if MALFORMED in given:
            raise ValueError(f"The arguments of {name} must be a JSON object, and are {given[MALFORMED]}")
        try:
            return self.arguments.model_validate(given).model_dump()
        except ValidationError as error:
            wrong = "; ".join(_complaint(one) for one in error.errors())
            raise ValueError(f"Invalid arguments of {name}: {wrong}") from None


def _complaint(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    told = {"missing": "is missing", "extra_forbidden": "is not an argument of this tool"}
    return f"'{name}' {told.get(error['type']) or 'is invalid: ' + error['msg']}"


class AnyArguments:
    """Accepts any arguments. The tool answers invalid ones itself, so that they do not end the run."""

    def validate_json(self, input: str | bytes | bytearray, *, allow_partial: Any = False, **_: Any) -> dict[str, Any]:
        """Accepts arguments as JSON text."""
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {MALFORMED: "not JSON"}

    def validate_python(self, input: Any, *, allow_partial: Any = False, **_: Any) -> dict[str, Any]:
        """Accepts arguments as data."""
        if isinstance(input, dict):
            return cast("dict[str, Any]", input)
        return {MALFORMED: f"of type {type(input).__name__}"}


TOOLS = {
    "read_file": Tool(
        "read",
        ReadFileArgs,
        "Read a text file, or a part of it. The answer has content, truncated (whether more follows), total_chars, "
        "offset and chars_read. To continue, set offset to offset + chars_read. Not for images and other binary "
        "files.",
    ),
    "write_file": Tool(
        "write",
        WriteFileArgs,
        "Write a whole text file. An existing file is replaced, and missing directories are created.",
    ),
    "list_files": Tool(
        "list_files",
        ListFilesArgs,
        "List all files below a directory, sorted; hidden ones are included. With a pattern, only those that match.",
    ),
    "edit_file": Tool(
        "edit",
        EditFileArgs,
        "Replace text in a file. The old text must occur exactly once; add surrounding text until it does.",
    ),
    "delete_file": Tool(
        "delete", DeleteFileArgs, "Delete a file permanently. Directories are not deleted."
    ),
    "move_file": Tool(
        "move",
        MoveFileArgs,
        "Move or rename a file. Missing directories are created; an existing destination is never replaced.",
    ),
    "copy_file": Tool(
        "copy",
        CopyFileArgs,
        "Copy a file. Missing directories are created; an existing destination is never replaced.",
    ),
}
"""In the order in which a model sees them."""
