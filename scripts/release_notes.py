#!/usr/bin/env python3
"""Print the section of CHANGELOG.md for a release, by its tag: `release_notes.py v1.2.3`.

It fails unless the tag is the version in Cargo.toml and the changelog has a dated heading for it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(tag: str, root: Path = ROOT) -> int:
    """Print the notes, and return the exit status."""
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    if tag != f"v{version}":
        return fail(f"the tag is {tag}, and Cargo.toml has the version {version}")
    notes = section((root / "CHANGELOG.md").read_text(), version)
    if notes is None:
        return fail(f"CHANGELOG.md has no heading like: ## [{version}] - 2026-01-31")
    print(notes)
    return 0


def section(changelog: str, version: str) -> str | None:
    """Return the text below the heading of a version, if it has a date."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)"
    found = re.search(heading, changelog, re.DOTALL | re.MULTILINE)
    return found and found[1].strip()


def fail(reason: str) -> int:
    print(f"release_notes: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: release_notes.py TAG")
    sys.exit(main(sys.argv[1]))
