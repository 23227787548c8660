"""Build the program `pgsluice`, and put it where maturin takes a wheel's scripts from.

maturin makes a wheel of an extension module or of programs. In one that has both, the program is
data, under `data` in pyproject.toml. By hand: `program.py --profile dist`; the options are cargo's.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "target/wheel/scripts"
# The program alone is built, with the features that its crates have in the extension module: what
# was compiled for one serves the other.
BUILD = ["cargo", "build", "--package=pgsluice-cli", "--package=pgsluice-py", "--bin=pgsluice"]


def place(*options: str) -> None:
    """Build the program with these options of cargo, and put it there."""
    command = [*BUILD, "--message-format=json-render-diagnostics", *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = map(json.loads, done.stdout.splitlines())
    program = next(each["executable"] for each in messages if each.get("executable"))
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, SCRIPTS)


if __name__ == "__main__":
    try:
        place(*sys.argv[1:])
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
