"""The paths of programs: beside Python, beside the embedded server, or on the PATH.

A script that starts the program, such as Debian's wrapper, would be timed with it, so it is
bypassed.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pgsluice_lab.postgres import programs

# Debian's wrapper runs the program of the newest of these, unless another is chosen.
INSTALLED = Path("/usr/lib/postgresql")
# The program that prints the path of PostgreSQL's programs.
CONFIG = "pg_config"


def find(name: str) -> str | None:
    """Return the program of this name, or None."""
    for folder in (Path(sys.executable).parent, programs()):
        if folder and (found := shutil.which(name, path=str(folder))):
            return found
    found = shutil.which(name)
    return started_by(name, found) if found and wrapped(found) else found


def needed(name: str) -> str:
    """Return the program of this name. If it is missing, running the name reports that."""
    return find(name) or name


def wrapped(program: str) -> bool:
    """Return whether a program is only a link to Debian's wrapper."""
    return Path(program).resolve().name == "pg_wrapper"


def started_by(name: str, wrapper: str) -> str:
    """Return the program that a wrapper starts; the wrapper itself if it is unknown."""
    folders = sorted(INSTALLED.glob("*/bin"), key=lambda each: version(each.parent), reverse=True)
    if config := shutil.which(CONFIG):
        result = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        folders += [Path(result.stdout.strip())] if result.returncode == 0 else []
    real = (shutil.which(name, path=str(each)) for each in folders)
    return next((each for each in real if each and not wrapped(each)), wrapper)


def version(folder: Path) -> float:
    """Return the version in a folder's name; 9.6 was the last one with two numbers."""
    return float(folder.name) if re.fullmatch(r"\d+(\.\d+)?", folder.name) else 0
