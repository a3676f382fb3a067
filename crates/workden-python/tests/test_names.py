"""The names of the package: complete, loaded on first use, and no others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG

import workden

# The exports of pydantic-ai-backend 0.2.15.
OF_THE_REFERENCE = """
    BackendProtocol SandboxProtocol BackgroundSandboxProtocol AsyncBackendProtocol AsyncSandboxProtocol
    AsyncBackgroundSandboxProtocol AsyncBackendAdapter AsyncSandboxAdapter AsyncBackgroundSandboxAdapter ensure_async
    FileData FileInfo WriteResult EditResult ExecuteResponse BackgroundHandle BackgroundOutput BackgroundProcessInfo
    GrepMatch RuntimeConfig StateBackend LocalBackend CompositeBackend AsyncCompositeBackend line_hash
    format_hashline_output apply_hashline_edit apply_hashline_edit_with_summary create_console_toolset
    get_console_system_prompt ConsoleToolset ConsoleDeps EditFormat HASHLINE_CONSOLE_PROMPT LS_DESCRIPTION
    READ_FILE_DESCRIPTION HASHLINE_READ_FILE_DESCRIPTION WRITE_FILE_DESCRIPTION EDIT_FILE_DESCRIPTION
    HASHLINE_EDIT_DESCRIPTION GLOB_DESCRIPTION GREP_DESCRIPTION EXECUTE_DESCRIPTION IMAGE_EXTENSIONS IMAGE_MEDIA_TYPES
    DEFAULT_MAX_IMAGE_BYTES DOCUMENT_EXTENSIONS DOCUMENT_MEDIA_TYPES DEFAULT_MAX_DOCUMENT_BYTES BaseSandbox
    DaytonaSandbox DockerSandbox KubernetesPodSandbox SessionManager SandboxFactory BUILTIN_RUNTIMES get_runtime
    PermissionAction PermissionOperation
    PermissionRule OperationPermissions PermissionRuleset PermissionChecker PermissionAskError PermissionError
    PermissionDeniedError AskCallback AskFallback DEFAULT_RULESET PERMISSIVE_RULESET READONLY_RULESET STRICT_RULESET
    SECRETS_PATTERNS SYSTEM_PATTERNS create_ruleset ConsoleCapability __version__
""".split()
# The exports of version 0.2.37, which is another interface.
OF_0_2_37 = """
    BUILTIN_RUNTIMES DEFAULT_MAX_DOCUMENT_BYTES DEFAULT_MAX_IMAGE_BYTES DEFAULT_RULESET DOCUMENT_EXTENSIONS
    DOCUMENT_MEDIA_TYPES EDIT_FILE_DESCRIPTION EXECUTE_DESCRIPTION GLOB_DESCRIPTION GREP_DESCRIPTION
    HASHLINE_CONSOLE_PROMPT HASHLINE_EDIT_DESCRIPTION HASHLINE_READ_FILE_DESCRIPTION IMAGE_EXTENSIONS IMAGE_MEDIA_TYPES
    LS_DESCRIPTION PERMISSIVE_RULESET READONLY_RULESET READ_FILE_DESCRIPTION SECRETS_PATTERNS STRICT_RULESET
    SYSTEM_PATTERNS TOOL_TEXT WRITE_FILE_DESCRIPTION AskCallback AskFallback CommandOutcome CommandRunner
    ConfinedWorkspace ConsoleCapability ConsoleToolset DaytonaWorkspace DaytonaWorkspaceBackend DockerSandbox
    DockerWorkspace DockerWorkspaceBackend EditFormat FileData FileInfo KubernetesPodSandbox KubernetesWorkspace
    KubernetesWorkspaceBackend OperationPermissions PermissionAction PermissionAskError PermissionChecker
    PermissionDeniedError PermissionError PermissionOperation PermissionRule PermissionRuleset Profile RuntimeConfig
    SandboxFactory SandboxUnavailableError SandboxUsage SandboxdWorkspace SandboxdWorkspaceBackend SessionManager
    StateBackend StateWorkspace StateWorkspaceBackend ToolText WorkspaceArchive WorkspaceArchiveError
    WorkspacePathError WorkspaceTree apply_hashline_edit apply_hashline_edit_with_summary create_console_toolset
    create_ruleset format_hashline_output get_console_system_prompt get_runtime line_hash
""".split()
OUR_OWN = "FilesystemBackend LocalSandbox LinuxSandbox RemoteSandbox WorkdenWorkspace".split()


@pytest.mark.parametrize("name", [*OF_THE_REFERENCE, *OUR_OWN])
def test_a_name_is_there(name: str) -> None:
    assert getattr(workden, name) is not None


def test_no_other_name_is_promised() -> None:
    assert sorted(workden.__all__) == sorted([*OF_THE_REFERENCE, *OUR_OWN])
    assert set(workden.__all__) <= set(dir(workden))


def test_every_name_of_a_later_version_is_here_or_has_a_row() -> None:
    page = (Path(__file__).parents[3] / "docs/compatibility-python.md").read_text()
    section = page.split("## Coming from pydantic-ai-backend 0.2.37")[1].split("\n## ")[0]
    here = [name for name in OF_0_2_37 if name in workden.__all__]
    assert f"Of the {len(OF_0_2_37)} names that 0.2.37 exports, {len(here)} are here" in section
    named = set(re.findall(r"\w+", "".join(row.split("|")[1] for row in section.splitlines() if row.startswith("|"))))
    assert {name for name in OF_0_2_37 if name not in here} <= named


def test_an_unknown_name_is_not_an_attribute() -> None:
    with pytest.raises(AttributeError, match="^module 'workden' has no attribute 'Nonsense'$"):
        workden.Nonsense  # type: ignore[attr-defined]  # noqa: B018


def fresh(code: str) -> str:
    """Returns the output of a new interpreter."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "names", ["LocalBackend", "StateBackend", "CompositeBackend", "LinuxSandbox", "DockerSandbox", "DaytonaSandbox"]
)
def test_neither_pydantic_nor_pydantic_ai_is_loaded_before_it_is_needed(names: str) -> None:
    loaded = json.loads(fresh(f"import sys, json; from workden import {names}; print(json.dumps(list(sys.modules)))"))
    assert [name for name in loaded if name.split(".")[0] in ("pydantic", "pydantic_core", "pydantic_ai")] == []


USUAL = "import time, sys, typing, dataclasses, json, pathlib, uuid, shutil"


@pytest.mark.parametrize(
    ("what", "most"), [("import workden", 4), ("from workden import LocalBackend, StateBackend", 30)]
)
def test_the_import_loads_few_modules(what: str, most: int) -> None:
    loaded = json.loads(fresh(f"{USUAL}; before = set(sys.modules); {what}; print(json.dumps([*{{*sys.modules}} - before]))"))
    assert len(loaded) <= most, loaded


@pytest.mark.parametrize("what", ["import workden", "from workden import LocalBackend, StateBackend"])
def test_the_import_takes_little_processor_time(what: str) -> None:
    # The full measure is for an idle machine; the short one notices an import of a whole framework.
    most = 0.050 if LONG else 1.0
    clock = f"{USUAL}; begin = time.process_time(); {what}; print(time.process_time() - begin)"
    assert min(float(fresh(clock)) for _ in range(7)) < most
