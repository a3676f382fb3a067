"""The seven tools: what a model is told about them, and what it may pass."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workden.filesystem.results import DEFAULT_MAX_READ_CHARS

MALFORMED = "workden_malformed"
"""Under this name comes what a model passed that is no object."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadFileArgs(_Arguments):
    """Arguments of `read_file`."""

    path: str = Field(description="The file to read")
    max_chars: int = Field(default=DEFAULT_MAX_READ_CHARS, ge=0, description="How many characters to read at most")
    offset: int = Field(default=0, ge=0, description="How many characters to skip")


class WriteFileArgs(_Arguments):
    """Arguments of `write_file`."""

    path: str = Field(description="The file to write; missing directories are made")
    content: str = Field(description="The whole content of the file")


class ListFilesArgs(_Arguments):
    """Arguments of `list_files`."""

    path: str = Field(default=".", description="The directory to look below; '.' for everything")
    pattern: str = Field(
        default="**/*", description="Which files, from that directory on: * within a name, ** across directories"
    )


class EditFileArgs(_Arguments):
    """Arguments of `edit_file`."""

    path: str = Field(description="The file to edit")
    old_text: str = Field(description="The text to replace, exactly as it stands in the file, where it stands once")
    new_text: str = Field(description="The text to put in its place")


class DeleteFileArgs(_Arguments):
    """Arguments of `delete_file`."""

    path: str = Field(description="The file to delete; a link is deleted, not what it leads to")


class MoveFileArgs(_Arguments):
    """Arguments of `move_file`."""

    source: str = Field(description="The file to move")
    destination: str = Field(description="Where to, with the name that it is to have; nothing may be there yet")


class CopyFileArgs(_Arguments):
    """Arguments of `copy_file`."""

    source: str = Field(description="The file to copy")
    destination: str = Field(description="Where to, with the name that the copy is to have; nothing may be there yet")


@dataclass(frozen=True)
class Tool:
    """One tool."""

    method: str
    """The method of the toolset that does it."""
    arguments: type[BaseModel]
    description: str

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        schema = self.arguments.model_json_schema()
        del schema["title"], schema["description"]
        for parameter in schema["properties"].values():
            del parameter["title"]
        return schema

    def parsed(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments that were given, with those that were not. Raises `ValueError` with a sentence for a model."""
        if MALFORMED in given:
            raise ValueError(f"The arguments of {name} have to be a JSON object, and are {given[MALFORMED]}")
        try:
            return self.arguments.model_validate(given).model_dump()
        except ValidationError as error:
            wrong = "; ".join(_complaint(one) for one in error.errors())
            raise ValueError(f"The arguments of {name} cannot be used: {wrong}") from None


def _complaint(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    told = {"missing": "is missing", "extra_forbidden": "is no argument of it"}
    return f"'{name}' {told.get(error['type']) or 'is wrong: ' + error['msg']}"


class AnyArguments:
    """Takes whatever a model passes. Wrong arguments are answered by the tool: in a run, nothing ends the run."""

    def validate_json(self, input: str | bytes | bytearray, *, allow_partial: Any = False, **_: Any) -> dict[str, Any]:
        """Arguments that are still text."""
        try:
            return self.validate_python(json.loads(input))
        except (ValueError, RecursionError):
            return {MALFORMED: "no JSON"}

    def validate_python(self, input: Any, *, allow_partial: Any = False, **_: Any) -> dict[str, Any]:
        """Arguments that are data already."""
        if isinstance(input, dict):
            return cast("dict[str, Any]", input)
        return {MALFORMED: f"of another kind ({type(input).__name__})"}


TOOLS = {
    "read_file": Tool(
        "read",
        ReadFileArgs,
        "Read a text file, or a part of it. The answer has content, truncated (whether more follows), total_chars, "
        "offset and chars_read. To go on reading, set offset to offset + chars_read. Not for images and other files "
        "that are no text.",
    ),
    "write_file": Tool(
        "write",
        WriteFileArgs,
        "Write a whole text file. What was there before is replaced, and missing directories are made.",
    ),
    "list_files": Tool(
        "list_files",
        ListFilesArgs,
        "List all files below a directory, sorted; hidden ones are included. With a pattern, only those that match.",
    ),
    "edit_file": Tool(
        "edit",
        EditFileArgs,
        "Replace a text in a file by another. The old text has to stand there exactly once; add what is around it "
        "until it does.",
    ),
    "delete_file": Tool(
        "delete", DeleteFileArgs, "Delete a file. It cannot be brought back. Directories are not deleted."
    ),
    "move_file": Tool(
        "move",
        MoveFileArgs,
        "Move or rename a file. Missing directories are made; what is at the destination is never replaced.",
    ),
    "copy_file": Tool(
        "copy",
        CopyFileArgs,
        "Copy a file. Missing directories are made; what is at the destination is never replaced.",
    ),
}
"""In the order in which a model sees them."""
