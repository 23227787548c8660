"""Where programs are: beside Python, beside the embedded server, or on the PATH."""

import shutil
import sys
from pathlib import Path

from pgsluice.postgres import programs


def find(name: str) -> str | None:
    """Return the program of this name, if there is one."""
    for folder in (Path(sys.executable).parent, programs()):
        if folder and (found := shutil.which(name, path=str(folder))):
            return found
    return shutil.which(name)


def needed(name: str) -> str:
    """Return the program of this name; if there is none, running it says so."""
    return find(name) or name
