"""The extension module, built from crates/py."""

from collections.abc import Sequence

__version__: str

def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit status; args[0] is the program's name."""
