"""LangChain's suite for sandboxes of deepagents, over the adapter."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests

from workden.backends.linux import LinuxSandbox
from workden.backends.local import LocalBackend
from workden.integrations.deepagents import WorkdenSandbox

_RELATIVE = "expects paths relative to the search; deepagents 0.7 returns absolute paths, which its permissions need"

CONTRADICTED = {
    "test_glob": _RELATIVE,
    "test_glob_basic_pattern": _RELATIVE,
    "test_glob_with_character_class": _RELATIVE,
    "test_glob_hidden_files_explicitly": _RELATIVE,
    "test_glob_with_question_mark": _RELATIVE,
    "test_glob_with_directories": "expects directories and relative paths; `glob` of deepagents 0.7 returns files only",
    "test_write_existing_file_fails": "expects an error; `write` of deepagents 0.7 replaces an existing file",
}
"""Tests of the suite that contradict deepagents 0.7, with the reason."""


class Suite(SandboxIntegrationTests):
    @pytest.fixture(autouse=True)
    def contradicted(self, request: pytest.FixtureRequest) -> None:
        reason = CONTRADICTED.get(request.node.originalname)
        if reason is not None:
            request.applymarker(pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason))


class TestLinuxSandbox(Suite):
    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[WorkdenSandbox]:
        with LinuxSandbox() as sandbox:
            yield WorkdenSandbox(sandbox)


class TestLocalBackend(Suite):
    root: Path

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def directory(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls.root = tmp_path_factory.mktemp("suite")

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls, directory: None) -> Iterator[WorkdenSandbox]:
        with pytest.MonkeyPatch.context() as patch:
            # Commands of the suite call `python`.
            patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
            with LocalBackend(cls.root) as local:
                yield WorkdenSandbox(local)

    @property
    def sandbox_root_dir(self) -> str:
        return str(self.root)


class OwnSandbox(BaseSandbox):
    """Files by the shell commands of deepagents itself, in a sandbox of workden."""

    def __init__(self, sandbox: WorkdenSandbox) -> None:
        self._sandbox = sandbox

    @property
    def id(self) -> str:
        return self._sandbox.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return self._sandbox.execute(command, timeout=timeout)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return self._sandbox.upload_files(files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return self._sandbox.download_files(paths)


@pytest.fixture(scope="module")
def own_sandbox() -> Iterator[OwnSandbox]:
    with LinuxSandbox() as sandbox:
        yield OwnSandbox(WorkdenSandbox(sandbox))


@pytest.mark.parametrize("name", CONTRADICTED)
def test_deepagents_itself_contradicts_the_same_tests(own_sandbox: OwnSandbox, name: str) -> None:
    with pytest.raises(AssertionError):
        getattr(Suite(), name)(own_sandbox, f"/tmp/own/{name}")
