#!/usr/bin/env python3
"""Print the paths of Chromium and of its driver, one per line, fetching them if necessary.

In this order: CHROMIUM and CHROMEDRIVER of the environment, programs on the PATH, and, as root,
Debian's packages. A browser and a driver of different major versions do not work together and do
not count. Only the test that reads the lab's report needs them.
"""

import os
import re
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DRIVERS = ("chromedriver", "chromium-driver", "chromium.chromedriver")
# The test's page needs a font; a machine without fonts draws empty boxes.
PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core")


def main() -> int:
    for way in (named, installed, by_apt):
        found = way()
        if found:
            print(*found, sep="\n")
            return 0
    print(
        "fetch_chromium: found no Chromium with a driver of its version, and could not fetch it\n"
        "HINT:  Install the packages chromium and chromium-driver, "
        "or set CHROMIUM and CHROMEDRIVER.",
        file=sys.stderr,
    )
    return 1


def named() -> tuple[str, str] | None:
    return pair(os.environ.get("CHROMIUM"), os.environ.get("CHROMEDRIVER"))


def installed() -> tuple[str, str] | None:
    return pair(first(BROWSERS), first(DRIVERS))


def by_apt() -> tuple[str, str] | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print("fetch_chromium: installing the packages chromium and chromium-driver", file=sys.stderr)
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES]
    if not succeeds(install, quiet):
        succeeds(["apt-get", "update", "-q"], quiet)
        if not succeeds(install, quiet):
            return None
    return installed()


def first(names: tuple[str, ...]) -> str | None:
    return next((place for name in names if (place := shutil.which(name))), None)


def pair(browser: str | None, driver: str | None) -> tuple[str, str] | None:
    """Return both if they run and have the same major version."""
    if browser and driver and (major := version(browser)) and major == version(driver):
        return browser, driver
    return None


def version(program: str) -> str | None:
    try:
        run = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\b(\d+)\.\d+\.\d+", run.stdout)
    return found[1] if found else None


def succeeds(command: list[str], env: dict[str, str]) -> bool:
    """Run a command with its output on stderr, because stdout is for the result."""
    return subprocess.run(command, stdout=sys.stderr, env=env, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
