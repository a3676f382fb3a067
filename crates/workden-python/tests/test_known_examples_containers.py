"""The examples of pydantic-ai-backend about containers, with another import, on a real daemon.

The image `python:3.12-slim` is the daemon's own, if it exists, and otherwise a small Debian with Python.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playing import FIBONACCI, FIBONACCI_SAYS, plays

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("python_image"), pytest.mark.timeout(900)]

IMAGE = "python:3.12-slim"


def docker(*arguments: str) -> str | None:
    """Returns the output of the client; empty if it fails."""
    said = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    return said.stdout if said.returncode == 0 else None


def runtimes() -> set[str]:
    """Returns the images that were built from runtimes."""
    return set((docker("images", "--format", "{{.Repository}}:{{.Tag}}", "workden-runtime") or "").split())


@pytest.fixture(scope="module")
def python_image() -> Iterator[None]:
    """Provides the image that the examples name. The daemon may belong to a user: everything created here is
    removed."""
    ours, before = docker("image", "inspect", IMAGE) is None, runtimes()
    if ours:
        tagged = docker("tag", "workden-test/python:latest", IMAGE)
        assert tagged is not None, "cargo xtask docker makes workden-test/python"
    yield
    for image in runtimes() - before:
        docker("rmi", image)
    if ours:
        docker("rmi", "--no-prune", IMAGE)


def test_builtin_runtime() -> None:
    from workden import DockerSandbox

    sandbox = DockerSandbox(runtime="python-datascience")
    sandbox.start()
    # Fully isolated container environment
    assert sandbox.is_alive()
    assert sandbox.execute("python -c 'import pandas, numpy, sklearn, seaborn; print(6 * 7)'").output == "42\n"
    sandbox.stop()
    assert not sandbox.is_alive()


async def test_session_manager(tmp_path: Path) -> None:
    from workden import SessionManager

    manager = SessionManager(
        default_runtime="python-datascience",
        workspace_root=f"{tmp_path}/workspaces",
    )

    # Each user gets isolated sandbox
    sandbox = await manager.get_or_create("user-123")

    assert sandbox.execute("pwd").output == "/workspace\n"
    assert await manager.shutdown() == 1


def test_code_execution() -> None:
    from pydantic_ai import Agent
    from workden import DockerSandbox

    agent = Agent(plays(("execute_python", {"code": FIBONACCI})))

    # Create sandbox (starts Docker container)
    sandbox = DockerSandbox(image="python:3.12-slim")

    @agent.tool
    def execute_python(ctx, code: str) -> str:
        """Execute Python code in a sandboxed environment."""
        # Write code to file
        sandbox.write("/workspace/script.py", code)
        # Execute and return output
        result = sandbox.execute("python /workspace/script.py", timeout=30)
        if result.exit_code != 0:
            return f"Error (exit {result.exit_code}): {result.output}"
        return result.output

    try:
        result = agent.run_sync("Calculate the first 10 Fibonacci numbers")
        print(result.output)
        assert FIBONACCI_SAYS in result.output
    finally:
        sandbox.stop()


def test_runtimes() -> None:
    from workden import BUILTIN_RUNTIMES, DockerSandbox, RuntimeConfig

    # Custom runtime with data science packages
    runtime = RuntimeConfig(
        name="datascience",
        base_image="python:3.12-slim",
        packages=["pandas", "numpy", "matplotlib", "scikit-learn"],
    )

    sandbox = DockerSandbox(runtime=runtime)
    assert not sandbox.is_alive()

    # Or use a built-in runtime
    sandbox = DockerSandbox(runtime="python-datascience")
    assert not sandbox.is_alive()

    # Available built-in runtimes:
    # - python-minimal: Clean Python 3.12
    # - python-datascience: pandas, numpy, matplotlib, scikit-learn, seaborn
    # - python-web: FastAPI, SQLAlchemy, httpx
    # - node-minimal: Clean Node.js 20
    # - node-react: TypeScript, Vite, React
    assert list(BUILTIN_RUNTIMES)[:5] == [
        "python-minimal", "python-datascience", "python-web", "node-minimal", "node-react"
    ]


async def test_multi_user_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    from workden import SessionManager

    # Create session manager for multi-user scenarios
    manager = SessionManager(
        default_runtime="python-datascience",
        default_idle_timeout=3600,  # 1 hour
    )

    async def handle_user_request(user_id: str, code: str):
        # Get or create sandbox for this user
        sandbox = await manager.get_or_create(user_id)

        # Execute user's code
        sandbox.write("/workspace/script.py", code)
        result = sandbox.execute("python /workspace/script.py")

        return result.output

    # Cleanup idle sessions periodically
    async def cleanup_task():
        while True:
            await asyncio.sleep(0.01)  # Every 5 minutes
            cleaned = await manager.cleanup_idle()
            print(f"Cleaned up {cleaned} idle sessions")

    # Shutdown all sessions on app exit
    async def shutdown():
        await manager.shutdown()

    cleaning = asyncio.create_task(cleanup_task())
    assert await handle_user_request("anna", "open('mine', 'w').write('anna'); print(6 * 7)") == "42\n"
    assert await handle_user_request("ben", "import os; print(os.path.exists('mine'))") == "False\n"
    assert await handle_user_request("anna", "print(open('mine').read())") == "anna\n"
    cleaning.cancel()
    await shutdown()
    assert "Cleaned up 0 idle sessions" in capsys.readouterr().out
    assert len(manager) == 0


def test_volumes(tmp_path: Path) -> None:
    from workden import DockerSandbox

    # Mount a host directory to persist files
    sandbox = DockerSandbox(
        image="python:3.12-slim",
        volumes={f"{tmp_path}/workspace": "/workspace"},  # host:container
    )

    # Files saved to /workspace in container persist on host
    sandbox.write("/workspace/output.csv", "data...")
    sandbox.stop()  # File remains at /local/workspace/output.csv
    assert (tmp_path / "workspace/output.csv").read_text() == "data..."


async def test_storage_of_sessions(tmp_path: Path) -> None:
    from workden import SessionManager

    # Automatically create persistent storage for each session
    manager = SessionManager(
        workspace_root=f"{tmp_path}/sessions",  # Root directory for all sessions
        default_runtime="python-datascience",
    )

    # Creates /app/sessions/{session_id}/workspace automatically
    sandbox = await manager.get_or_create("user-123")

    # Files persist even after container stops or app restarts
    sandbox.write("/workspace/results.csv", "analysis results...")
    assert (tmp_path / "sessions/user-123/workspace/results.csv").read_text() == "analysis results..."
    await manager.release("user-123")

    # Later: user returns, same files are available
    sandbox = await manager.get_or_create("user-123")  # Files still there!
    assert sandbox.read_bytes("/workspace/results.csv") == b"analysis results..."
    await manager.shutdown()


def test_docker_reference(capsys: pytest.CaptureFixture[str]) -> None:
    from workden import DockerSandbox

    sandbox = DockerSandbox(image="python:3.12-slim")
    sandbox.write("/workspace/script.py", "print(1+1)")
    result = sandbox.execute("python /workspace/script.py")
    print(result.output)  # "2"
    sandbox.stop()
    assert capsys.readouterr().out == "2\n\n"


def test_any_sandbox() -> None:
    from workden import DockerSandbox, SandboxProtocol

    def run_python_script(sandbox: SandboxProtocol, script: str) -> str:
        sandbox.write("/tmp/script.py", script)
        result = sandbox.execute("python /tmp/script.py", timeout=30)
        return result.output

    with DockerSandbox() as sandbox:
        assert run_python_script(sandbox, "print(6 * 7)") == "42\n"
