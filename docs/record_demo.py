#!/usr/bin/env python3
"""Records `workden demo` as an animated picture, docs/demo.svg.

It runs the demo, keeps its colours, and writes an SVG in which CSS shows the output line by line. The picture depends on
the output only: the duration of the run is left out, and the demo prints no path of the machine.

    python3 docs/record_demo.py                                  # write docs/demo.svg
    python3 docs/record_demo.py --program target/debug/workden   # with another program
    python3 docs/record_demo.py --check                          # exit with 1 if docs/demo.svg is out of date
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS, ROWS = 100, 28
FONT_SIZE, LINE_HEIGHT, CHARACTER = 14, 19, 8.43
MARGIN, TITLE_BAR = 16, 34
WIDTH = round(COLUMNS * CHARACTER + 2 * MARGIN)
HEIGHT = TITLE_BAR + ROWS * LINE_HEIGHT + 2 * MARGIN

# What a code of the demo's colours means: a class of the style sheet.
STYLES = {"1": "bold", "3": "italic", "33": "yellow", "36": "cyan"}
CODE = re.compile(r"\x1b\[([0-9;]*)m")

# Seconds for which a line stays the last one, by how it starts.
PAUSES = [("$ ", 1.2), ("> ", 0.55), ('"', 1.3)]
HEADING, PLAIN, END = 1.0, 0.14, 6.0

STYLE_SHEET = """
  text { font: %(size)dpx ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d5d9e0; }
  .bold { font-weight: 700; fill: #ffffff; }
  .italic { font-style: italic; fill: #a3adba; }
  .yellow { fill: #e5c07b; }
  .cyan { font-weight: 700; fill: #56c2d6; }
  .title { fill: #8b93a1; text-anchor: middle; }
  #text { animation: scroll %(total).2fs step-end infinite; }
  #cover { animation: reveal %(total).2fs step-end infinite; }
  @keyframes scroll {
%(scroll)s
  }
  @keyframes reveal {
%(reveal)s
  }
  @media (prefers-reduced-motion: reduce) { #text, #cover { animation: none; } }
"""

Span = tuple[frozenset[str], str]


def output(program: str) -> str:
    """Runs the demo with colours, and returns its output without the duration."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment["CLICOLOR_FORCE"] = "1"
    demo = subprocess.run([program, "demo"], env=environment, capture_output=True, text=True, check=False)
    if demo.returncode != 0:
        sys.exit(f"error: `{program} demo` exited with {demo.returncode}\n{demo.stderr}")
    text, replaced = re.subn(r"as they should, in [0-9.]+ s\.", "as they should.", demo.stdout)
    if replaced != 1:
        sys.exit("error: the demo does not print its duration as expected")
    return text


def spans(line: str) -> list[Span]:
    """Splits a line with codes into pieces of one style, with tabs expanded."""
    styled: list[tuple[frozenset[str], str]] = []
    active: frozenset[str] = frozenset()
    column = 0
    for index, piece in enumerate(CODE.split(line)):
        if index % 2 == 1:
            for code in piece.split(";"):
                known = code in ("", "0") or code in STYLES
                if not known:
                    sys.exit(f"error: colour code {code} has no style")
                active = frozenset() if code in ("", "0") else active | {STYLES[code]}
            continue
        for character in piece:
            shown = " " * (8 - column % 8) if character == "\t" else character
            column += len(shown)
            styled.append((active, shown))
    return merged(styled)


def merged(pieces: list[Span]) -> list[Span]:
    """Joins neighbours of one style."""
    joined: list[Span] = []
    for style, text in pieces:
        if joined and joined[-1][0] == style:
            joined[-1] = (style, joined[-1][1] + text)
        else:
            joined.append((style, text))
    return joined


def wrapped(line: list[Span]) -> list[list[Span]]:
    """Breaks a line at the edge of the window, as a terminal does."""
    characters = [(style, character) for style, text in line for character in text]
    starts = range(0, max(len(characters), 1), COLUMNS)
    return [merged(characters[start : start + COLUMNS]) for start in starts]


def pause(plain: str) -> float:
    """Returns for how long a line stays the last one."""
    if re.match(r"\d+\. ", plain):
        return HEADING
    return next((seconds for start, seconds in PAUSES if plain.startswith(start)), PLAIN)


def rows(text: str) -> list[tuple[list[Span], float]]:
    """Returns the rows of the window, and how long each stays the last one."""
    prompt = "\x1b[1m$ workden demo\x1b[0m"
    shown: list[tuple[list[Span], float]] = []
    for line in [prompt, *text.rstrip("\n").split("\n")]:
        parts = wrapped(spans(line))
        shown += [(part, 0.0) for part in parts[:-1]]
        shown.append((parts[-1], pause(CODE.sub("", line))))
    last, _ = shown[-1]
    return [*shown[:-1], (last, END)]


def drawn(row: list[Span], number: int) -> str:
    """Returns one row as SVG."""
    pieces = []
    for style, text in row:
        names = " ".join(sorted(style - {"bold"} if "cyan" in style else style))
        pieces.append(f'<tspan class="{names}">{escape(text)}</tspan>' if names else escape(text))
    y = number * LINE_HEIGHT + FONT_SIZE
    return f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{"".join(pieces)}</text>' if row else ""


def picture(text: str) -> str:
    """Returns the whole SVG."""
    shown = rows(text)
    total = sum(seconds for _, seconds in shown)
    scroll, reveal, elapsed = [], [], 0.0
    for number, (_, seconds) in enumerate(shown, start=1):
        if seconds == 0.0:
            continue
        moment = 100 * elapsed / total
        scroll.append(f"    {moment:.3f}% {{ transform: translateY({-max(0, number - ROWS) * LINE_HEIGHT}px); }}")
        reveal.append(f"    {moment:.3f}% {{ transform: translateY({min(number, ROWS) * LINE_HEIGHT}px); }}")
        elapsed += seconds
    keyframes = {"scroll": "\n".join(scroll), "reveal": "\n".join(reveal)}
    style = STYLE_SHEET % {"size": FONT_SIZE, "total": total, **keyframes}
    window = ROWS * LINE_HEIGHT + MARGIN
    lines = "\n".join(filter(None, (drawn(row, number) for number, (row, _) in enumerate(shown))))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>workden demo: a scripted agent writes a script, is refused a secret, and cannot get out of its sandbox</title>
<!-- Made by docs/record_demo.py. -->
<style>{style}</style>
<clipPath id="window"><rect width="{WIDTH}" height="{window}"/></clipPath>
<rect width="{WIDTH}" height="{HEIGHT}" rx="9" fill="#1b1e24"/>
<circle cx="20" cy="17" r="6" fill="#ed6a5e"/><circle cx="40" cy="17" r="6" fill="#f4bf4f"/>
<circle cx="60" cy="17" r="6" fill="#61c554"/><text class="title" x="{WIDTH // 2}" y="22">workden demo</text>
<g transform="translate(0 {TITLE_BAR + MARGIN // 2})" clip-path="url(#window)">
<g id="text">
{lines}
</g>
<rect id="cover" width="{WIDTH}" height="{window}" fill="#1b1e24" transform="translate(0 {window})"/>
</g>
</svg>
"""


def main() -> None:
    """Writes the picture, or compares it."""
    arguments = argparse.ArgumentParser(description="Records `workden demo` as docs/demo.svg.")
    arguments.add_argument("--program", default="workden", help="the program to run [default: workden on PATH]")
    arguments.add_argument("--check", action="store_true", help="only compare, and exit with 1 if it differs")
    options = arguments.parse_args()
    made = picture(output(options.program))
    if options.check:
        if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != made:
            sys.exit("error: docs/demo.svg is out of date\nhint: run `python3 docs/record_demo.py`")
        return
    PICTURE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
