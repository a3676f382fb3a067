"""The documented examples of pydantic-ai-backend, with another import: they run, and do what they say.

Only the import, the model, host directories and omitted parts of each example are changed. Those about containers are
in `test_known_examples_containers.py`, those about the filesystem sandbox in `test_known_examples_filesystem.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from playing import FIBONACCI, FIBONACCI_SAYS, MAKES_FIBONACCI, answers, plays


def test_quick_start(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden import LocalBackend, create_console_toolset

    @dataclass
    class Deps:
        backend: LocalBackend

    agent = Agent(
        plays(*MAKES_FIBONACCI),
        deps_type=Deps,
        toolsets=[create_console_toolset()],
    )

    backend = LocalBackend(root_dir="./workspace")
    result = agent.run_sync(
        "Create a Python script that calculates fibonacci and run it",
        deps=Deps(backend=backend),
    )
    print(result.output)

    assert (in_tmp / "workspace/fibonacci.py").read_text() == FIBONACCI
    wrote, ran = answers(result.all_messages())
    assert "fibonacci.py" in wrote
    assert FIBONACCI_SAYS in ran


def test_commands_that_require_approval_are_refused_without_a_source(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden import LocalBackend, create_console_toolset

    @dataclass
    class Deps:
        backend: LocalBackend

    # With approval requirements
    toolset = create_console_toolset(
        require_write_approval=True,
        require_execute_approval=True,
    )
    agent = Agent(plays(*MAKES_FIBONACCI), deps_type=Deps, toolsets=[toolset])
    result = agent.run_sync("Create a Python script that calculates fibonacci and run it", deps=Deps(LocalBackend(".")))
    # The model reads the refusal, and the run continues.
    assert len(answers(result.all_messages())) == 2
    assert list(in_tmp.iterdir()) == []


@pytest.mark.parametrize("isolation", [None, "linux"])
def test_quick_start_with_an_approver(in_tmp: Path, isolation: str | None) -> None:
    from pydantic_ai import Agent
    from workden import LocalBackend, create_console_toolset

    @dataclass
    class Deps:
        backend: LocalBackend

    asked: list[tuple[str, str]] = []

    def approves(operation: str, target: str, reason: str) -> bool:
        asked.append((operation, target))
        return True

    agent = Agent(plays(*MAKES_FIBONACCI), deps_type=Deps, toolsets=[create_console_toolset()])
    with LocalBackend(root_dir="./workspace", ask_callback=approves, isolation=isolation) as backend:  # type: ignore[arg-type]
        result = agent.run_sync("Create a Python script that calculates fibonacci and run it", deps=Deps(backend))
    assert FIBONACCI_SAYS in result.output
    assert ("execute", "python3 fibonacci.py") in asked


def test_in_memory() -> None:
    from workden import StateBackend

    backend = StateBackend()
    # Files stored in memory, perfect for tests
    assert backend.ls_info("/") == []


def test_local_filesystem(tmp_path: Path) -> None:
    from workden import LocalBackend

    backend = LocalBackend(
        root_dir=f"{tmp_path}/workspace",
        allowed_directories=[f"{tmp_path}/workspace", f"{tmp_path}/shared"],
        enable_execute=True,
    )
    assert backend.write(f"{tmp_path}/shared/a.txt", "a").error is None
    assert "outside allowed directories" in (backend.write(f"{tmp_path}/b.txt", "b").error or "")
    assert backend.execute("pwd").output == f"{tmp_path}/workspace\n"


async def test_console_toolset() -> None:
    from workden import create_console_toolset

    # All tools enabled
    toolset = create_console_toolset()
    assert {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "execute"} <= await names(toolset)

    # Without shell execution
    toolset = create_console_toolset(include_execute=False)
    assert "execute" not in await names(toolset)

    # With approval requirements
    toolset = create_console_toolset(
        require_write_approval=True,
        require_execute_approval=True,
    )
    assert "execute" in await names(toolset)


async def names(toolset: object) -> set[str]:
    """Returns the tools that a toolset offers to a model, over files in memory and a shell."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from workden import LocalBackend

    @dataclass
    class Deps:
        backend: LocalBackend

    offered: set[str] = set()

    def looks(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.update(tool.name for tool in info.function_tools)
        return ModelResponse(parts=[TextPart("seen")])

    await Agent(FunctionModel(looks), toolsets=[toolset]).run("look", deps=Deps(LocalBackend()))  # type: ignore[list-item]
    return offered


def test_permission_system(tmp_path: Path) -> None:
    from workden import LocalBackend, PermissionAskError
    from workden.permissions import DEFAULT_RULESET, READONLY_RULESET

    (tmp_path / "a.txt").write_text("text")
    # Safe defaults (allow reads, ask for writes)
    backend = LocalBackend(root_dir=tmp_path, permissions=DEFAULT_RULESET)
    assert backend.read("a.txt") == "     1\ttext"
    with pytest.raises(PermissionAskError):
        backend.write("a.txt", "other")

    # Read-only mode
    backend = LocalBackend(root_dir=tmp_path, permissions=READONLY_RULESET)
    assert backend.read("a.txt") == "     1\ttext"
    assert (backend.write("a.txt", "other").error or "").startswith("Permission denied")
    assert backend.execute("true").exit_code == 1


def test_custom_runtime() -> None:
    from workden import DockerSandbox, RuntimeConfig

    runtime = RuntimeConfig(
        name="ml-env",
        base_image="python:3.12-slim",
        packages=["torch", "transformers"],
    )
    sandbox = DockerSandbox(runtime=runtime)
    assert sandbox.id


def test_tools_of_ones_own() -> None:
    from pydantic_ai import Agent
    from workden import StateBackend

    # Create a backend for file storage
    backend = StateBackend()

    # Define your agent with file operation tools
    agent = Agent(plays(("search_files", {"pattern": "**/*.py"}), ("read_file", {"path": "/src/app.py"})))

    @agent.tool
    def read_file(ctx, path: str) -> str:
        """Read a file and return its contents."""
        return backend.read(path)

    @agent.tool
    def write_file(ctx, path: str, content: str) -> str:
        """Write content to a file."""
        result = backend.write(path, content)
        if result.error:
            return f"Error: {result.error}"
        return f"File written to {result.path}"

    @agent.tool
    def search_files(ctx, pattern: str) -> str:
        """Search for files matching a glob pattern."""
        files = backend.glob_info(pattern)
        return "\n".join(f["path"] for f in files)

    # Pre-populate some files
    backend.write("/src/app.py", "def main():\n    print('Hello')")
    backend.write("/src/utils.py", "def helper(): pass")

    # Run the agent
    result = agent.run_sync("List all Python files and read app.py")
    print(result.output)
    assert result.output == "/src/app.py\n/src/utils.py\n     1\tdef main():\n     2\t    print('Hello')"


def test_complex_routing(tmp_path: Path) -> None:
    from workden import CompositeBackend, FilesystemBackend, StateBackend

    project, datasets = tmp_path / "myproject", tmp_path / "datasets"
    for directory in (project, datasets):
        directory.mkdir()
    (datasets / "sales.csv").write_text("month,sales\n")

    # Route different paths to different backends
    backend = CompositeBackend(
        default=StateBackend(),  # In-memory for temp files
        routes={
            "/project/": FilesystemBackend(str(project)),
            "/data/": FilesystemBackend(str(datasets)),
        },
    )

    # Routes to FilesystemBackend at /home/user/myproject
    backend.write("/project/src/main.py", "print('hello')")

    # Routes to FilesystemBackend at /shared/datasets
    data = backend.read("/data/sales.csv")

    # Routes to StateBackend (in-memory)
    backend.write("/temp/scratch.txt", "temporary data")

    assert (project / "src/main.py").read_text() == "print('hello')"
    assert data == "     1\tmonth,sales"
    assert backend.read("/temp/scratch.txt") == "     1\ttemporary data"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["main.py", "sales.csv"]


def test_in_memory_reference() -> None:
    from workden import StateBackend

    backend = StateBackend()
    backend.write("/app.py", "print('hello')")
    content = backend.read("/app.py")  # Returns with line numbers
    matches = backend.grep_raw("print")  # Search content
    assert content == "     1\tprint('hello')"
    assert matches == [{"path": "/app.py", "line_number": 1, "line": "print('hello')"}]


def test_filesystem_reference(tmp_path: Path) -> None:
    from workden import FilesystemBackend

    backend = FilesystemBackend(str(tmp_path))
    backend.write("/data/file.txt", "content")  # Sandboxed to workspace
    backend.write("/data/code.py", "pass")
    files = backend.glob_info("**/*.py")
    assert (tmp_path / "data/file.txt").read_text() == "content"
    assert [file["path"] for file in files] == ["/data/code.py"]


def test_capability(tmp_path: Path) -> None:
    from pydantic_ai import Agent
    from workden import ConsoleCapability, LocalBackend
    from workden.permissions import READONLY_RULESET

    (tmp_path / "a.txt").write_text("text")
    agent = Agent(
        plays(("read_file", {"path": "a.txt"})),
        capabilities=[
            ConsoleCapability(
                backend=LocalBackend(root_dir=tmp_path),
                permissions=READONLY_RULESET,
                image_support=True,
            )
        ],
    )
    assert "text" in agent.run_sync("Read it").output


async def test_sessions_of_another_kind() -> None:
    from workden import LinuxSandbox, SessionManager

    def linux_factory(session_id: str) -> LinuxSandbox:
        return LinuxSandbox(sandbox_id=session_id)

    manager = SessionManager(sandbox_factory=linux_factory)
    sandbox = await manager.get_or_create("user-123")
    sandbox.write("script.py", "print('ran')")
    result = sandbox.execute("python3 script.py")
    assert result.output == "ran\n"
    assert await manager.release("user-123")


def test_api_quick_example(in_tmp: Path) -> None:
    from pydantic_ai import Agent
    from workden import LocalBackend, create_console_toolset

    @dataclass
    class Deps:
        backend: LocalBackend

    backend = LocalBackend(root_dir=".")
    toolset = create_console_toolset()
    hello = ("write_file", {"path": "hello.py", "content": "print('hello')"})
    agent = Agent(plays(hello, ("execute", {"command": "python3 hello.py"})), deps_type=Deps, toolsets=[toolset])

    result = agent.run_sync("Create hello.py and run it", deps=Deps(backend=backend))
    assert (in_tmp / "hello.py").read_text() == "print('hello')"
    assert len(answers(result.all_messages())) == 2


def test_import_reference() -> None:
    from workden import BUILTIN_RUNTIMES, DockerSandbox, RuntimeConfig, SessionManager  # noqa: F401
    from workden import BackendProtocol, SandboxProtocol
    from workden import CompositeBackend, LocalBackend, StateBackend
    from workden import ConsoleDeps, create_console_toolset, get_console_system_prompt  # noqa: F401
    from workden import EditResult, ExecuteResponse, FileInfo, GrepMatch, WriteResult  # noqa: F401

    assert isinstance(StateBackend(), BackendProtocol)
    assert isinstance(CompositeBackend(default=StateBackend()), BackendProtocol)
    assert isinstance(LocalBackend(), SandboxProtocol)
    assert not isinstance(StateBackend(), SandboxProtocol)


def test_any_backend(capsys: pytest.CaptureFixture[str]) -> None:
    from workden import BackendProtocol, StateBackend

    def process_files(backend: BackendProtocol) -> None:
        # Works with any backend implementation
        files = backend.ls_info("/")
        for f in files:
            content = backend.read(f["path"])
            print(content)

    backend = StateBackend()
    backend.write("/a.txt", "one")
    process_files(backend)
    assert capsys.readouterr().out == "     1\tone\n"


def test_any_sandbox() -> None:
    from workden import LinuxSandbox, SandboxProtocol

    def run_python_script(sandbox: SandboxProtocol, script: str) -> str:
        sandbox.write("/tmp/script.py", script)
        result = sandbox.execute("python3 /tmp/script.py", timeout=30)
        return result.output

    with LinuxSandbox() as sandbox:
        assert run_python_script(sandbox, "print(6 * 7)") == "42\n"
