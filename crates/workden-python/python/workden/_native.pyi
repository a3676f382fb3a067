"""The Rust half: rules and hashlines."""

from typing import Literal

class Failure(Exception):
    kind: str
    sentence: str
    hint: str | None
    refusal: str | None

class Rules:
    def __init__(self, ruleset: str, surroundings: Literal["machine", "files"] = "machine") -> None: ...
    def check(self, operation: str, target: str) -> Literal["allow", "deny", "ask"]: ...
    def explain(self, operation: str, target: str) -> tuple[str, str | None, int | None, str]: ...

def native_ruleset(ruleset: str, surroundings: Literal["machine", "files"] = "machine") -> str | None: ...
def line_hash(content: str) -> str: ...
def format_hashlines(content: str, offset: int, limit: int) -> str: ...
def apply_hashline(
    content: str,
    start_line: int,
    start_hash: str,
    new_content: str,
    end_line: int | None,
    end_hash: str | None,
    placement: Literal["replace", "insert_after"],
) -> tuple[str | None, str | None, str]: ...
