"""Built-in and custom runtimes."""

from __future__ import annotations

import pytest
from workden import _native
from workden._runtime_config import RuntimeConfig
from workden.backends import docker
from workden.backends.docker.runtimes import BUILTIN_RUNTIMES, get_runtime


def test_fields_are_in_their_order_with_their_defaults() -> None:
    assert RuntimeConfig(name="x").model_dump() == {
        "name": "x",
        "description": "",
        "image": None,
        "base_image": None,
        "packages": [],
        "package_manager": "pip",
        "setup_commands": [],
        "env_vars": {},
        "work_dir": "/workspace",
        "cache_image": True,
        "user": None,
    }
    assert list(RuntimeConfig.model_fields)[:3] == ["name", "description", "image"]
    with pytest.raises(ValueError, match="package_manager"):
        RuntimeConfig(name="x", package_manager="conda")  # type: ignore[arg-type]


def test_those_that_come_with_the_package() -> None:
    names = ["python-minimal", "python-datascience", "python-web", "node-minimal", "node-react"]
    assert list(BUILTIN_RUNTIMES) == names
    science = get_runtime("python-datascience")
    assert (science.base_image, science.image) == ("python:3.12-slim", None)
    assert science.packages == ["pandas", "numpy", "matplotlib", "scikit-learn", "seaborn"]
    react = get_runtime("node-react")
    assert (react.package_manager, react.work_dir) == ("npm", "/app")
    assert get_runtime("node-minimal").image == "node:20-slim"


def test_an_unknown_one_is_answered_with_what_there_is() -> None:
    with pytest.raises(KeyError) as raised:
        get_runtime("x")
    available = "python-minimal, python-datascience, python-web, node-minimal, node-react"
    assert raised.value.args == (f"Unknown runtime 'x'. Available: {available}",)


def test_the_image_of_a_runtime() -> None:
    web = get_runtime("python-web").model_dump_json()
    dockerfile = _native.runtime_dockerfile(web)
    assert dockerfile is not None and dockerfile.startswith("FROM python:3.12-slim\n") and "fastapi" in dockerfile
    tag = _native.runtime_tag(web)
    assert tag is not None and tag.startswith("workden-runtime:python-web-")
    ready = get_runtime("node-minimal").model_dump_json()
    assert _native.runtime_dockerfile(ready) is None and _native.runtime_tag(ready) is None
    _native.check_runtime(ready)


@pytest.mark.parametrize("packages", [["a\n", "RUN", "id"], ["a; id"], ["$(id)"]])
def test_a_package_is_never_a_command(packages: list[str]) -> None:
    runtime = RuntimeConfig(name="x", base_image="python:3.12-slim", packages=packages)
    with pytest.raises(_native.Failure) as raised:
        _native.check_runtime(runtime.model_dump_json())
    assert raised.value.kind == "invalid_argument"


def test_invalid_runtimes_are_rejected() -> None:
    with pytest.raises(_native.Failure, match="a runtime"):
        _native.check_runtime("{")


def test_names_of_the_package() -> None:
    assert docker.BUILTIN_RUNTIMES is BUILTIN_RUNTIMES and docker.get_runtime is get_runtime
    with pytest.raises(AttributeError, match="DaytonaSandbox"):
        docker.DaytonaSandbox  # type: ignore[attr-defined]  # noqa: B018
