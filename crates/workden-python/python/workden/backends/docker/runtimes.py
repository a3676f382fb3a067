"""The built-in runtimes."""

from __future__ import annotations

import json

from workden import _native
from workden._runtime_config import RuntimeConfig

__all__ = ["BUILTIN_RUNTIMES", "get_runtime"]

BUILTIN_RUNTIMES: dict[str, RuntimeConfig] = {
    runtime["name"]: RuntimeConfig(**runtime) for runtime in json.loads(_native.builtin_runtimes())
}
"""The built-in runtimes by name."""


def get_runtime(name: str) -> RuntimeConfig:
    """Returns the runtime with this name.

    ```python
    from workden import get_runtime

    assert get_runtime("python-web").packages == ["fastapi", "uvicorn", "sqlalchemy", "httpx"]
    ```
    """
    if name not in BUILTIN_RUNTIMES:
        raise KeyError(f"Unknown runtime '{name}'. Available: {', '.join(BUILTIN_RUNTIMES)}")
    return BUILTIN_RUNTIMES[name]
