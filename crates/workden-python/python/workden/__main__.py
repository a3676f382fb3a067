"""The command line `workden`, a separate program that the wheel contains."""

from __future__ import annotations

import os
import sys

from workden._program import program


def main() -> None:
    """Replaces this process with that program, passing on the arguments."""
    found = program()
    if found is None:
        sys.exit(
            "error: the program `workden` is not in this package\n"
            "hint: install the package from a wheel, or set WORKDEN_PROGRAM to the path of the program"
        )
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
