"""The command line `workden`, which is a program of its own that the package carries."""

from __future__ import annotations

import os
import sys

from workden._program import program


def main() -> None:
    """Becomes that program, with the same arguments."""
    found = program()
    if found is None:
        sys.exit(
            "error: the program `workden` is not in this package\n"
            "hint: install the package from a wheel, which has it, or name one by WORKDEN_PROGRAM"
        )
    os.execv(found, [found, *sys.argv[1:]])


if __name__ == "__main__":
    main()
