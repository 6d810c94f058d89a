"""The command line: ``python -m esker run scene.toml`` is ``esker run scene.toml``."""

import sys

from ._native import main as _main


def main() -> int:
    """Runs the program with the arguments of this process; returns its exit code."""
    return _main(["esker", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
