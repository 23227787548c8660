#!/usr/bin/env python3
"""Print the path of pgbouncer, fetching it if necessary.

In this order: the one on this machine, and, as root, the Debian package.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def main() -> int:
    for way in (installed, by_apt):
        found = way()
        if found and runs(found):
            print(found)
            return 0
    say("found no pgbouncer and could not fetch it\nHINT:  Install the package pgbouncer.")
    return 1


def installed() -> str | None:
    return shutil.which("pgbouncer", path=PLACES)


def by_apt() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    say("installing the package pgbouncer")
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "pgbouncer"]
    # Prevents the package from starting its service: only the program is needed.
    policy = Path("/usr/sbin/policy-rc.d")
    is_free = not policy.exists()
    if is_free:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        if not succeeds(install, env=quiet):
            succeeds(["apt-get", "update", "-q"], env=quiet)
            if not succeeds(install, env=quiet):
                return None
    finally:
        if is_free:
            policy.unlink()
    return installed()


def runs(program: str) -> bool:
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return run.stdout.startswith("PgBouncer ")


def succeeds(command: list[str], **how) -> bool:
    """Run a command with its output on stderr, because stdout is for the result."""
    return subprocess.run(command, stdout=sys.stderr, check=False, **how).returncode == 0


def say(message: str) -> None:
    print(f"fetch_pgbouncer: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
