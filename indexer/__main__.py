"""The program's first lines: the command line, so that Ctrl-C is answered from the very start.

The command line takes 40 to 150 ms to import; interrupted in that time, Python would print a traceback.
Hence nothing is imported here before it can be caught.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> int:
    """Run one command; returns its exit code. `python -m indexer` is for where the script is not on the PATH."""
    try:
        from indexer.cli import main as run  # noqa: PLC0415 - see above

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
