"""The program `pgsluice` after `pip install`: the Rust command line in a Python process."""

import signal
import sys

from pgsluice._native import run


def main() -> int:
    """Run the command line with this process's arguments and return its exit status."""
    # Python's handler would only record the Ctrl-C until Rust returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["pgsluice", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
