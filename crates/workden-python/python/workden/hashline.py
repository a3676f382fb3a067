"""Lines with a number and a short hash, so that an edit by line number detects when a file has changed.

    >>> format_hashline_output("def f():\\n    return 1\\n")
    '1:00|def f():\\n2:dc|    return 1'
    >>> apply_hashline_edit("a\\nb\\n", 2, line_hash("b"), "B")
    ('a\\nB\\n', None)
"""

from __future__ import annotations

from workden._native import apply_hashline, format_hashlines, line_hash

__all__ = [
    "apply_hashline_edit",
    "apply_hashline_edit_with_summary",
    "format_hashline_output",
    "line_hash",
]


def format_hashline_output(content: str, offset: int = 0, limit: int = 2000) -> str:
    """Formats the lines of a text as `number:hash|line`.

    Args:
        content: The text.
        offset: How many lines to skip.
        limit: Maximum number of lines. If more are left, the last line of the result says how many.
    """
    return format_hashlines(content, max(offset, 0), max(limit, 0))


def apply_hashline_edit(
    content: str,
    start_line: int,
    start_hash: str,
    new_content: str,
    end_line: int | None = None,
    end_hash: str | None = None,
    insert_after: bool = False,
) -> tuple[str, str | None]:
    """Replaces, deletes or inserts lines, if the hashes of the named lines still match.

    Args:
        content: The text.
        start_line: The first line, counted from 1.
        start_hash: The hash of the first line.
        new_content: The new lines; an empty string deletes the old ones.
        end_line: The last line, if it differs from the first one.
        end_hash: The hash of the last line, if it should be checked.
        insert_after: Whether to insert after the first line instead of replacing it.

    Returns:
        The text after the edit and `None`, or the text as it is and why it stays so.
    """
    text, error, _ = apply_hashline_edit_with_summary(
        content, start_line, start_hash, new_content, end_line, end_hash, insert_after
    )
    return text, error


def apply_hashline_edit_with_summary(
    content: str,
    start_line: int,
    start_hash: str,
    new_content: str,
    end_line: int | None = None,
    end_hash: str | None = None,
    insert_after: bool = False,
) -> tuple[str, str | None, str]:
    """Like `apply_hashline_edit`, with a short summary of the change; empty if nothing changed."""
    placement = "insert_after" if insert_after else "replace"
    text, error, summary = apply_hashline(
        content, start_line, start_hash, new_content, end_line, end_hash, placement
    )
    return (content if text is None else text), error, summary
