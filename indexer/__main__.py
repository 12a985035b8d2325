"""`python -m indexer`: the command line, for where the console script is not on the PATH."""

from __future__ import annotations

import sys

from indexer.cli import main

if __name__ == "__main__":
    sys.exit(main())
