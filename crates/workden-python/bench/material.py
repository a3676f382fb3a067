"""Test data for the benchmarks: created once, identical everywhere, and reused by later runs."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

DIRECTORIES = 400
FILES = 100
ENTRIES = 10_000
WORDS = "value total index buffer request answer session handler import reader writer token path match".split()


def provide(home: Path) -> Path:
    """Returns the directory of the data. Incomplete data of an interrupted run is replaced."""
    place, unfinished = home / "material-1", home / "material-unfinished"
    if place.exists():
        return place
    if unfinished.exists():
        shutil.rmtree(unfinished)
    print(f"=== making {DIRECTORIES * FILES:,} files and more in {place}, once", flush=True)
    _tree(unfinished / "tree")
    entries = unfinished / "entries"
    entries.mkdir()
    for number in range(ENTRIES):
        (entries / f"entry_{number:05}.txt").write_text("one line\n")
    few = unfinished / "few"
    few.mkdir()
    for number in range(50):
        (few / f"module_{number}.py").write_text(source(random.Random(number), 50))
    lines = source(random.Random(3), 300_000)
    (few / "large.txt").write_text(lines[: 10 * 1024 * 1024])
    unfinished.rename(place)
    return place


def _tree(root: Path) -> None:
    chance = random.Random(7)
    for number in range(DIRECTORIES):
        directory = root / f"part_{number % 20}" / f"group_{number}"
        directory.mkdir(parents=True)
        for file in range(FILES):
            ending = ("py", "py", "py", "txt", "json")[file % 5]
            (directory / f"file_{file}.{ending}").write_text(source(chance, chance.randrange(10, 60)))
    (root / "part_7/group_7/file_7.py").write_text("the one and only: a_rare_needle\n")


def source(chance: random.Random, lines: int) -> str:
    """Returns lines that resemble source code."""
    text: list[str] = []
    for number in range(lines):
        first, second, third = chance.choices(WORDS, k=3)
        if number % 12 == 0:
            text.append(f"def {first}_{second}_handler({third}):")
        else:
            text.append(f"    {first} = {second}({third}, {number})  # {chance.randrange(10_000)}")
    return "\n".join(text) + "\n"
