"""Every example in a docstring, in docs/python.md and in README.md runs, and the search finds all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented import Example, in_docstrings, in_markdown
from playing import FIBONACCI_SAYS, MAKES_FIBONACCI, plays

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "crates/workden-python/python/workden"
GUIDE = ROOT / "docs/python.md"
README = ROOT / "README.md"


def all_examples() -> list[object]:
    found = [example for file in sorted(PACKAGE.rglob("*.py")) for example in in_docstrings(file)]
    found += in_markdown(GUIDE)
    return [example.parameter(ROOT) for example in found]


@pytest.mark.parametrize("example", all_examples())
def test_an_example_runs(example: Example, in_tmp: Path) -> None:
    assert "mkdtemp" not in example.code, "it would leave a directory behind wherever it is copied to"
    example.run()


def test_the_agent_of_the_readme_does_what_it_is_told(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The example names a hosted model; this one acts as that model is told to.
    monkeypatch.setattr("pydantic_ai.models.infer_model", lambda name, *_, **__: plays(*MAKES_FIBONACCI))
    (example,) = in_markdown(README)
    assert FIBONACCI_SAYS in example.run()["result"].output
    assert FIBONACCI_SAYS in capsys.readouterr().out
    assert (in_tmp / "workspace/fibonacci.py").exists()


def test_a_failing_example_fails_at_its_own_line(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# A\n\n```python\nx = 1\nassert x == 2\n```\n\n```text\nnot python\n```\n")
    (example,) = in_markdown(file)
    with pytest.raises(AssertionError) as caught:
        example.run()
    assert caught.traceback[-1].lineno + 1 == 5


def test_examples_are_found_in_docstrings_of_every_kind_and_may_await(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    block = '"""Says.\n\n{0}```python\n{0}import asyncio\n{0}x = await asyncio.sleep(0, {1})\n{0}```\n{0}"""\n'
    file.write_text(
        block.format("", 1) + "class A:\n    " + block.format("    ", 2) + "    async def f(self):\n        "
        + block.format("        ", 3) + "        return 1\n"
    )
    assert [example.run()["x"] for example in in_docstrings(file)] == [1, 2, 3]
