"""The console: what its tools remember about a backend, how long, and that they do not keep it alive."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from waiting import until_async
from scripted import PlainBackend, answer, run

from workden.adapter import ensure_async
from workden.backends.local import LocalBackend
from workden.backends.state import StateBackend
from workden.toolsets import _tool_cache
from workden.toolsets.console import create_console_toolset


async def test_an_edit_of_a_file_that_changed_since_the_read_is_refused(local: LocalBackend, tmp_path: Path) -> None:
    toolset = create_console_toolset(max_retries=0)
    edit = ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"})
    (tmp_path / "a.txt").write_text("one\n")
    await run(toolset, local, ("read_file", {"path": "a.txt"}))
    (tmp_path / "a.txt").write_text("one more\n")
    stale, _, edited = await run(toolset, local, edit, ("read_file", {"path": "a.txt"}), edit)
    assert stale.startswith(
        "Error: 'a.txt' changed since you last read it. Read it again before editing so your change applies to the "
        "current contents."
    )
    assert edited == "Edited a.txt: replaced 1 occurrence(s)"
    # An adapter around the same backend shares its memory.
    (tmp_path / "a.txt").write_text("one by one\n")
    assert "changed since you last read it" in (await run(toolset, ensure_async(local), edit))[0]
    # Another backend, and another agent, have read nothing.
    (tmp_path / "a.txt").write_text("one")
    assert (await run(toolset, LocalBackend(root_dir=tmp_path), edit))[0].startswith("Edited")
    (tmp_path / "a.txt").write_text("one")
    assert (await answer(local, *edit)).startswith("Edited")


@pytest.mark.parametrize("kind", [StateBackend, PlainBackend])
async def test_a_backend_is_not_kept_by_the_tools(kind: type[Any]) -> None:
    toolset = create_console_toolset()
    backend = kind()
    assert len(await run(toolset, backend, ("ls", {}))) == 1
    gone = weakref.ref(backend)
    del backend
    # The native module releases the references of a call on its own thread, after the call.
    await until_async(lambda: gc.collect() >= 0 and gone() is None)


async def test_backends_that_cannot_be_referred_to_weakly_work_and_make_room() -> None:
    class Slotted:
        __slots__ = ("inner",)

        def __init__(self) -> None:
            self.inner = PlainBackend(a_dot_txt="x")

        def __getattr__(self, name: str) -> Any:
            if name == "execute":
                raise AttributeError(name)
            return getattr(self.inner, name)

    toolset = create_console_toolset()
    for _ in range(_tool_cache._MAX_STRONG + 2):
        assert await run(toolset, Slotted(), ("ls", {})) == ["Contents of .:\n  a.txt (1 bytes)"]


async def test_a_child_process_makes_its_own(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = _tool_cache.ToolCache({}, None)
    here = cache.tools_for(local, "as_policy")
    assert cache.tools_for(local, "as_policy") is here
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert cache.tools_for(local, "as_policy") is not here
