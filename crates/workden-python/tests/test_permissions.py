"""Permissions: the models as data, the enforcement of a ruleset, and the questions of the checker."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from waiting import LONG
from pydantic import ValidationError

import workden.permissions
from workden._native import Failure, Rules, native_ruleset
from workden.permissions import (
    DEFAULT_RULESET,
    PERMISSIVE_RULESET,
    READONLY_RULESET,
    SECRETS_PATTERNS,
    STRICT_RULESET,
    SYSTEM_PATTERNS,
    OperationPermissions,
    PermissionAskError,
    PermissionChecker,
    PermissionDeniedError,
    PermissionOperation,
    PermissionRule,
    PermissionRuleset,
    create_ruleset,
)
from workden.permissions.presets import DANGEROUS_COMMANDS

DATA = Path(__file__).parent / "data"
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def rule(pattern: str, action: Any = "deny", description: str = "") -> PermissionRule:
    return PermissionRule(pattern=pattern, action=action, description=description)


def checker(operation: str, *rules: PermissionRule, default: Any = "allow") -> PermissionChecker:
    own = OperationPermissions(default=default, rules=list(rules))
    return PermissionChecker(PermissionRuleset.model_validate({"default": "allow", operation: own}))


# Data.


def test_fields_and_defaults() -> None:
    assert rule("x").model_dump() == {"pattern": "x", "action": "deny", "description": ""}
    assert OperationPermissions().model_dump() == {"default": "allow", "rules": []}
    operations = dict.fromkeys(("read", "write", "edit", "execute", "glob", "grep", "ls"))
    assert PermissionRuleset().model_dump() == {"default": "ask", **operations}


@pytest.mark.parametrize("model", [PermissionRule, OperationPermissions, PermissionRuleset])
def test_unknown_actions_are_refused(model: Any) -> None:
    with pytest.raises(ValidationError):
        model(pattern="x", action="maybe", default="maybe")


def test_an_operation_without_rules_goes_by_the_default() -> None:
    ruleset = PermissionRuleset(default="deny", read=OperationPermissions(default="ask"))
    assert ruleset.get_operation_permissions("read") is ruleset.read
    assert ruleset.get_operation_permissions("ls") == OperationPermissions(default="deny")


@pytest.mark.parametrize("ruleset", [DEFAULT_RULESET, PERMISSIVE_RULESET, READONLY_RULESET, STRICT_RULESET])
def test_presets_survive_json(ruleset: PermissionRuleset) -> None:
    assert PermissionRuleset.model_validate_json(ruleset.model_dump_json()) == ruleset


def test_presets_are_what_is_published() -> None:
    def said(ruleset: PermissionRuleset) -> dict[str, tuple[str, int, str]]:
        table: dict[str, tuple[str, int, str]] = {}
        for name in ("read", "write", "edit", "execute", "glob", "grep", "ls"):
            own = ruleset.get_operation_permissions(name)
            assert all(one.action == "deny" for one in own.rules)
            (described,) = {one.description for one in own.rules} or {""}
            table[name] = (own.default, len(own.rules), described)
        return {"": (ruleset.default, 0, ""), **table}

    secrets, system = "Protect sensitive files", "Protect sensitive and system files"
    dangerous, searches = ("Block dangerous commands"), ("glob", "grep", "ls")
    allowed = {name: ("allow", 0, "") for name in searches}
    changes = {name: ("ask", 12, secrets) for name in ("write", "edit")}
    assert said(DEFAULT_RULESET) == {
        "": ("ask", 0, ""), "read": ("allow", 12, secrets), **changes, "execute": ("ask", 7, dangerous), **allowed
    }  # fmt: skip
    changes = {name: ("allow", 20, system) for name in ("write", "edit")}
    assert said(PERMISSIVE_RULESET) == {
        "": ("allow", 0, ""), "read": ("allow", 12, secrets), **changes, "execute": ("allow", 7, dangerous), **allowed
    }  # fmt: skip
    changes = {name: ("deny", 0, "") for name in ("write", "edit", "execute")}
    assert said(READONLY_RULESET) == {"": ("deny", 0, ""), "read": ("allow", 12, secrets), **changes, **allowed}
    changes = {name: ("ask", 12, secrets) for name in ("read", "write", "edit")}
    asked = {name: ("ask", 0, "") for name in searches}
    assert said(STRICT_RULESET) == {"": ("ask", 0, ""), **changes, "execute": ("ask", 7, dangerous), **asked}
    assert (len(SECRETS_PATTERNS), len(SYSTEM_PATTERNS), len(DANGEROUS_COMMANDS)) == (12, 8, 7)


def test_a_ruleset_by_choices() -> None:
    default = create_ruleset()
    assert [default.get_operation_permissions(name).default for name in ("read", "write", "edit", "execute", "ls")] == [
        "allow", "ask", "ask", "ask", "allow",
    ]  # fmt: skip
    assert [len(default.get_operation_permissions(name).rules) for name in ("read", "write", "edit", "execute")] == [
        12, 12, 12, 0,
    ]  # fmt: skip
    other = create_ruleset(default="deny", allow_read=False, allow_execute=True, allow_ls=False, deny_secrets=False)
    assert (other.default, other.read) == ("deny", OperationPermissions(default="ask"))
    assert PermissionChecker(other).check_sync("read", "/w/.env") == "ask"
    assert PermissionChecker(default).check_sync("read", "/w/.env") == "deny"


# Enforcement.

SECRET = ["/w/.env", "/w/a\nb/.env", "/w/secrets/x.txt", "/w/id_rsa", "/w/KEY.PEM", "/w/.envrc", "/h/.ssh/x", ".env"]
HARMLESS = ["/w/main.py", "/w/password_reset.py", "/w/.env.example", "/w/README.md", "main.py", "/w/keys.py"]


@pytest.mark.parametrize("path", SECRET)
def test_presets_deny_secrets(path: str) -> None:
    for ruleset in (DEFAULT_RULESET, PERMISSIVE_RULESET, READONLY_RULESET, STRICT_RULESET, create_ruleset()):
        for operation in ("read", "write", "edit"):
            assert PermissionChecker(ruleset).is_denied(operation, path), operation


@pytest.mark.parametrize("path", HARMLESS)
def test_presets_leave_alone_what_is_no_secret(path: str) -> None:
    assert PermissionChecker(DEFAULT_RULESET).check_sync("read", path) == "allow"
    assert PermissionChecker(PERMISSIVE_RULESET).check_sync("write", path) == "allow"
    assert PermissionChecker(STRICT_RULESET).check_sync("read", path) == "ask"
    assert PermissionChecker(READONLY_RULESET).check_sync("edit", path) == "deny"


def test_the_system_is_protected_where_there_is_one() -> None:
    permissive = PERMISSIVE_RULESET.model_dump_json()
    for path in ("/etc", "/etc/hosts", "/proc/1/x", "/lib/x", "/usr/bin/ls"):
        assert Rules(permissive).check("write", path) == "deny"
        assert Rules(permissive, "files").check("write", path) == "allow"
    assert Rules(permissive, "files").check("write", "/w/.env") == "deny"
    with pytest.raises(Failure, match="surroundings"):
        Rules(permissive, "nowhere")  # pyright: ignore[reportArgumentType]


DANGEROUS = [
    "rm -rf /", "rm  -rf /", "rm -rf /*", "rm -rf /tmp", "sudo rm -rf /", "true; rm -rf /", "rm -rf /etc",
    "mkfs.ext4 /dev/sda1", "mkfs", "dd if=/dev/zero of=/dev/sda", "dd if=x of=/dev/sda", "echo x > /dev/sda",
    "> /dev/sda", ":(){ :|:& };:", ":(){:|:&};:", "chmod -R 777 /", "sh -c 'rm -rf /'", "/bin/rm -rf /",
]  # fmt: skip


@pytest.mark.parametrize("command", DANGEROUS)
def test_presets_deny_dangerous_commands(command: str) -> None:
    for ruleset in (DEFAULT_RULESET, PERMISSIVE_RULESET, STRICT_RULESET):
        action, of, index, why = Rules(ruleset.model_dump_json()).explain("execute", command)
        assert (action, of) == ("deny", "execute"), (ruleset.default, why)
        assert "Block dangerous commands" in why
        assert index is not None


@pytest.mark.parametrize("command", ["ls -la", "rm -rf build", "rm -rf /home/user/p/build", "git status", "dd if=a of=b"])
def test_ordinary_commands_are_left_to_the_default(command: str) -> None:
    assert PermissionChecker(PERMISSIVE_RULESET).check_sync("execute", command) == "allow"
    assert PermissionChecker(DEFAULT_RULESET).check_sync("execute", command) == "ask"
    assert PermissionChecker(READONLY_RULESET).check_sync("execute", command) == "deny"


def test_files_that_a_command_would_touch_count() -> None:
    rules = Rules(PERMISSIVE_RULESET.model_dump_json())
    action, of, index, why = rules.explain("execute", "cat .env")
    assert (action, of, index) == ("deny", "read", 0)
    assert why.startswith("Protect sensitive files")
    assert rules.check("execute", "echo x > /etc/hosts") == "deny"
    assert rules.check("execute", "cat $file") == "ask"


def test_one_dangerous_command_stands_for_all() -> None:
    asking = checker("execute", rule("mkfs*", "ask"))
    assert asking.check_sync("execute", "dd if=x of=/dev/sda") == "ask"
    assert asking.check_sync("execute", "ls") == "allow"
    assert checker("execute", rule("mkfs*", "allow"), default="deny").is_allowed("execute", "mkfs.ext4 x")


@pytest.mark.parametrize("pattern", DANGEROUS_COMMANDS)
def test_each_of_the_list_is_known_to_be_of_it(pattern: str) -> None:
    denying = checker("execute", rule(pattern))
    assert denying.is_denied("execute", "sudo rm -rf /etc") and denying.is_denied("execute", "dd if=x of=/dev/sdb")


def test_a_rule_added_to_one_operation_of_a_preset_is_not_added_to_another() -> None:
    for preset in (DEFAULT_RULESET, PERMISSIVE_RULESET, READONLY_RULESET, STRICT_RULESET):
        parts = [preset.get_operation_permissions(name) for name in get_args(PermissionOperation)]
        assert len({id(part) for part in parts}) == len({id(part.rules) for part in parts}) == 7


def test_a_ruleset_that_allows_everything_doubts_nothing() -> None:
    open_to_all = PermissionRuleset(default="allow")
    assert PermissionChecker(open_to_all).check_sync("execute", 'eval "$x"') == "allow"
    assert native_ruleset(open_to_all.model_dump_json()) is None
    ours = json.loads(native_ruleset(DEFAULT_RULESET.model_dump_json()) or "")
    assert (ours["default"], ours["dangerous_commands"], ours["read"]["default"]) == ("ask", "deny", "allow")


def test_parts_of_a_list_mean_what_they_say() -> None:
    some = checker("read", *(rule(pattern) for pattern in SECRETS_PATTERNS[:2]))
    assert some.is_denied("read", "/w/.env")
    assert some.is_allowed("read", "/w/id_rsa")
    excepted = checker("read", rule("**/.env.test", "allow"), *(rule(pattern) for pattern in SECRETS_PATTERNS))
    assert excepted.is_allowed("read", "/w/.env.test")
    assert excepted.is_denied("read", "/w/id_rsa")


# Patterns, each with paths that match and paths that do not.

PATHS = [
    ("**/*.log", ["/a.log", "/a/b/c.log", "a.log", "/a\nb/c.log"], ["/a.logs", "/a.log/x"]),
    ("/w/*", ["/w/a", "/w/.a"], ["/w/a/b", "/w", "/x/w/a"]),
    ("/w/**", ["/w/a", "/w/a/b"], ["/w", "/ww/a"]),
    ("/w/**.py", ["/w/a.py", "/w/b/a.py"], ["/w/a.pyc"]),
    ("/w/a**", ["/w/a", "/w/ab", "/w/a/b/c", "/w/ab/c"], ["/w/b/a"]),
    ("/w/a**b", ["/w/ab", "/w/axb", "/w/a/b", "/w/ax/y/xb"], ["/w/a", "/w/ba"]),
    ("/w/a**/b", ["/w/ab", "/w/a/b", "/w/ax/y/b"], ["/w/axb"]),
    ("/w/?", ["/w/a", "/w/é"], ["/w/ab", "/w/"]),
    ("/w/[ab]c", ["/w/ac", "/w/bc"], ["/w/cc", "/w/[ab]c"]),
    ("/w/[!ab]c", ["/w/cc"], ["/w/ac"]),
    ("/w/[]x]c", ["/w/]c", "/w/xc"], ["/w/c"]),
    ("/w/[ab", ["/w/[ab"], ["/w/a"]),
    ("/w/[", ["/w/["], ["/w/a"]),
    ("/w/[!]", ["/w/[!]"], ["/w/a"]),
    ("/w/{a,b}", ["/w/{a,b}"], ["/w/a"]),
    ("/w/a\\b", ["/w/a\\b"], ["/w/ab"]),
    ("**", ["/", "/a", "/a/b"], []),
    ("/", ["/"], ["/a"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "matched", "others"), PATHS)
@pytest.mark.parametrize(("action", "default"), [("allow", "deny"), ("ask", "deny"), ("deny", "allow"), ("ask", "allow")])
def test_patterns_over_paths(pattern: str, matched: list[str], others: list[str], action: Any, default: Any) -> None:
    asked = checker("read", rule(pattern, action), default=default)
    for path in matched:
        assert asked.check_sync("read", path) == action, path
    for path in others:
        assert asked.check_sync("read", path) == default, path


def test_only_what_makes_nothing_looser_reaches_further() -> None:
    # Without a directory, the pattern matches a file in any directory.
    assert checker("read", rule("*.pem")).is_denied("read", "/w/tls/a.pem")
    assert checker("read", rule("conf/x")).is_denied("read", "/w/conf/x")
    assert checker("read", rule("*.pem", "allow"), default="deny").is_denied("read", "/w/tls/a.pem")
    assert checker("read", rule("*.pem", "allow"), default="deny").is_allowed("read", "a.pem")
    # A directory includes everything in it.
    assert checker("read", rule("/w/x/")).is_denied("read", "/w/x/y")
    assert checker("read", rule("/w/x/", "allow"), default="deny").is_denied("read", "/w/x/y")
    assert checker("read", rule("/w/x/", "allow"), default="deny").is_denied("read", "/w/x")
    # Letter case.
    assert checker("read", rule("**/*.pem")).is_denied("read", "/A.PEM")
    assert checker("read", rule("**/*.pem", "allow"), default="deny").is_denied("read", "/A.PEM")
    # A refusal comes before a question.
    assert checker("execute", rule("git status", "ask")).requires_approval("execute", "git status x")
    assert checker("execute", rule("git status", "ask"), default="deny").is_denied("execute", "git status x")
    assert checker("execute", rule("git status", "ask"), default="deny").requires_approval("execute", "git status")
    assert checker("read", rule("**/*.pem", "ask")).requires_approval("read", "/A.PEM")
    assert checker("read", rule("**/*.pem", "ask"), default="deny").is_denied("read", "/A.PEM")
    assert checker("read", rule("*.pem", "ask"), rule("/w/**")).is_denied("read", "/w/a.pem")


def test_the_first_match_decides() -> None:
    asked = checker("write", rule("/w/a/**", "allow"), rule("/w/**", "ask"), rule("**"), default="allow")
    assert [asked.check_sync("write", path) for path in ("/w/a/x", "/w/x", "/x")] == ["allow", "ask", "deny"]


def test_paths_as_they_are_written() -> None:
    denied = checker("read", rule("/etc/**"))
    for path in ("/etc/x", "/etc/../etc/x", "//etc/./x", "/../etc/x", "../../etc/x"):
        assert denied.is_denied("read", path), path
    # A rule that allows one place does not allow a path with an unknown base.
    allowed = checker("read", rule("/w/**", "allow"), rule("src/**", "allow"), default="deny")
    for path, expected in {"/w/x": True, "w/x": False, "src/x": True, "../src/x": False, "../w/x": False}.items():
        assert allowed.is_allowed("read", path) is expected, path
    assert checker("read").is_denied("read", "a\0b")
    assert Rules(DEFAULT_RULESET.model_dump_json()).explain("read", "a\0b") == ("deny", None, None, "")
    # Names that are not UTF-8.
    assert PermissionChecker(DEFAULT_RULESET).is_denied("read", "/w/\udcff.pem")


COMMANDS = [
    ("git *", ["git status", "git add src/x"], ["gitk", "ls"]),
    ("pytest*", ["pytest", "pytest -q tests/x"], ["ls"]),
    ("git * --force", ["git push --force", "git push a b --force"], ["git push"]),
    ("npm run [a-z]*", ["npm run build"], ["npm run -x", "npm install"]),
    ("echo {a}", ["echo {a}"], ["echo a"]),
    ('echo "a"', ['echo "a"', "echo a"], ["echo b"]),
    ("dd if=*of=x", ["dd if=a of=x", "dd if=of=x", "dd if=/a bs=1 of=x"], ["dd if=a of=y"]),
    ("*--force*", ["git push --force", "git push --force-with-lease x"], ["git push"]),
    ("*", ["ls", "ls -l a/b"], []),
]


@pytest.mark.parametrize(("pattern", "matched", "others"), COMMANDS)
@pytest.mark.parametrize(("action", "default"), [("allow", "deny"), ("ask", "deny"), ("deny", "allow")])
def test_patterns_over_commands(pattern: str, matched: list[str], others: list[str], action: Any, default: Any) -> None:
    asked = checker("execute", rule(pattern, action), default=default)
    for command in matched:
        assert asked.check_sync("execute", command) == action, command
    for command in others:
        assert asked.check_sync("execute", command) == default, command


def test_every_command_of_a_line_counts() -> None:
    denied = checker("execute", rule("rm *"))
    for command in ("rm x", "ls; rm x", "ls && env rm  x", "$(rm x)"):
        assert denied.is_denied("execute", command), command
    allowed = checker("execute", rule("ls*", "allow"), default="deny")
    assert allowed.is_allowed("execute", "ls -l")
    assert allowed.is_denied("execute", "ls; rm x")


def test_a_line_is_looked_at_as_it_is_written_as_well() -> None:
    piped = checker("execute", rule("curl * | sh", description="No installers"))
    assert piped.is_denied("execute", "curl x.example | sh")
    assert piped.is_allowed("execute", "ls")
    redirected = checker("execute", rule("*backup*"))
    assert redirected.is_denied("execute", "ls > backup.txt")
    # Earlier rules decide first.
    before = checker("execute", rule("ls *", "allow"), rule("ls * | wc*"), rule("wc*", "allow"))
    assert before.is_denied("execute", "ls x | wc -l")
    before = checker("execute", rule("ls *", "allow"), rule("wc*", "allow"), rule("ls * | wc*"))
    assert before.is_allowed("execute", "ls x | wc -l")


@pytest.mark.parametrize("operation", ["read", "execute"])
@pytest.mark.parametrize("action", ["allow", "ask", "deny"])
@pytest.mark.parametrize("pattern", ["[z-a]x", "", "[\\d]x"])
def test_a_pattern_that_is_none_is_refused_when_the_rules_are_made(operation: str, action: Any, pattern: str) -> None:
    with pytest.raises(ValueError, match=f"rule 1 of `{operation}`"):
        checker(operation, rule(pattern, action))


@pytest.mark.parametrize("pattern", ["!a", "~/.ssh/**", " a", "a ", "../a"])
def test_a_pattern_that_would_never_match_is_refused(pattern: str) -> None:
    for action in ("deny", "allow"):
        with pytest.raises(ValueError, match="rule 1 of `read`"):
            checker("read", rule(pattern, action))


@pytest.mark.parametrize("pattern", ["rm[ ]x", "a*b*c*d*e*f"])
def test_a_command_that_cannot_be_said_in_words_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="rule 1 of `execute`"):
        checker("execute", rule(pattern))


def test_an_invalid_ruleset_is_refused() -> None:
    for call in (Rules, native_ruleset):
        with pytest.raises(Failure, match="a ruleset"):
            call('{"default":"never"}')
    with pytest.raises(Failure, match="rule 1 of `read`"):
        native_ruleset('{"default":"ask","read":{"default":"ask","rules":[{"pattern":"[z-a]","action":"deny"}]}}')


@pytest.mark.parametrize("operation", ["read", "execute"])
def test_nothing_is_looser_than_in_the_reference(operation: str) -> None:
    cases = json.loads((DATA / f"permissions-{operation}.json").read_text())
    for default, rules, target, recorded in cases:
        # One difference is intended: a relative pattern starts at the root, as relative paths do.
        relative = [action != "deny" and not pattern.startswith(("/", "**")) for pattern, action in rules]
        if operation == "read" and target.startswith("/") and any(relative):
            continue
        asked = checker(operation, *(rule(pattern, action) for pattern, action in rules), default=default)
        answer = asked.check_sync(operation, target)  # pyright: ignore[reportArgumentType]
        assert STRICTNESS[answer] >= STRICTNESS[recorded], (default, rules, target, recorded, answer)


# Questions.


@pytest.mark.asyncio
async def test_allowed_and_denied() -> None:
    asked = PermissionChecker(DEFAULT_RULESET)
    assert await asked.check("read", "/a.md") is True
    with pytest.raises(PermissionDeniedError) as denied:
        await asked.check("read", "/w/.env")
    error = denied.value
    assert str(error) == "Permission denied for read on '/w/.env': Protect sensitive files"
    assert (error.operation, error.target) == ("read", "/w/.env")
    assert error.rule is DEFAULT_RULESET.get_operation_permissions("read").rules[0]
    with pytest.raises(PermissionDeniedError) as denied:
        await PermissionChecker(READONLY_RULESET).check("write", "/a")
    assert (str(denied.value), denied.value.rule) == ("Permission denied for write on '/a'", None)
    with pytest.raises(PermissionDeniedError) as denied:
        await asked.check("execute", "cat .env && mkfs x")
    assert str(denied.value).startswith("Permission denied for execute on 'cat .env && mkfs x': ")


@pytest.mark.asyncio
async def test_a_callback_is_asked() -> None:
    heard: list[tuple[str, str, str]] = []

    async def answer(operation: str, target: str, reason: str) -> bool:
        heard.append((operation, target, reason))
        return target == "/yes"

    asked = PermissionChecker(DEFAULT_RULESET, answer)
    assert await asked.check("write", "/yes", "to try") is True
    with pytest.raises(PermissionDeniedError, match="^Permission denied for write on '/no'$"):
        await asked.check("write", "/no")
    assert heard == [("write", "/yes", "to try"), ("write", "/no", "")]


@pytest.mark.asyncio
async def test_without_a_callback_the_fallback_holds() -> None:
    with pytest.raises(PermissionAskError) as unasked:
        await PermissionChecker(DEFAULT_RULESET).check("write", "/a", "to try")
    error = unasked.value
    assert str(error) == "Permission required for write on '/a': to try"
    assert (error.operation, error.target, error.reason) == ("write", "/a", "to try")
    with pytest.raises(PermissionAskError, match="on '/a'$"):
        await PermissionChecker(DEFAULT_RULESET).check("write", "/a")
    with pytest.raises(PermissionDeniedError, match="on '/a'$"):
        await PermissionChecker(DEFAULT_RULESET, ask_fallback="deny").check("write", "/a")


def test_the_former_name_of_the_error_still_works() -> None:
    with pytest.warns(DeprecationWarning):
        error = workden.permissions.PermissionError("read", "/a")
    assert isinstance(error, PermissionAskError)


def test_questions_without_asking() -> None:
    asked = PermissionChecker(DEFAULT_RULESET)
    assert asked.ruleset is DEFAULT_RULESET
    for path, operation, answers in [
        ("/a", "read", (True, False, False)), ("/.env", "read", (False, True, False)), ("/a", "edit", (False, False, True)),
    ]:  # fmt: skip
        said = (asked.is_allowed(operation, path), asked.is_denied(operation, path), asked.requires_approval(operation, path))
        assert said == answers


def test_an_unknown_operation_has_the_default() -> None:
    rules = Rules(READONLY_RULESET.model_dump_json())
    assert rules.check("dance", "/a") == "deny"
    assert rules.explain("dance", "/a") == ("deny", None, None, "")


# Many commands, threads and processes.


def test_more_commands_than_are_remembered() -> None:
    rules = Rules(PERMISSIVE_RULESET.model_dump_json())
    numbers = range(3_000 if LONG else 1_100)
    for number in [*numbers, *numbers[:20]]:
        assert rules.check("execute", f"echo {number}") == "allow"
    long = "echo " + "x" * 5_000
    assert [rules.check("execute", long), rules.check("execute", long)] == ["allow", "allow"]
    assert rules.check("execute", "rm -rf /") == "deny"


def test_the_examples_hold() -> None:
    from workden.permissions import checker as checking
    from workden.permissions import presets, types

    for module in (workden.permissions, checking, presets, types):
        assert doctest.testmod(module).failed == 0
