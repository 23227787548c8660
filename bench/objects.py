"""Time loads of objects from an S3 server against loads of the same files from the disk.

Run it by `make bench CASE=objects`. The server runs on this machine, behind the proxy that delays.
A load of three columns of Parquet shows how few bytes are read. The rounds are interleaved; the
record contains each.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgsluice_lab import site
from pgsluice_lab.failure import LabError
from pgsluice_lab.programs import needed
from pgsluice_lab.site import Site
from pgsluice_lab.timing import timed

from bench import goals, inputs, proxy
from bench.figures import share_read
from bench.place import ROOT
from bench.rounds import Round, Rounds

ENVIRONMENT = ROOT / ".cache" / "objects"
SETTINGS = ("shared_buffers=2GB", "max_wal_size=16GB", "checkpoint_timeout=1h")
ROUNDS = 5
LIMIT = 600
DELAYS = ("0", "20", "50")
TABLES = {"all": ROOT / "demo" / "lineitem.sql", "three": ROOT / "bench" / "objects.sql"}


@dataclass(frozen=True)
class Kind:
    """A file of lineitem, and how it is loaded."""

    title: str
    suffix: str
    table: str
    options: tuple[str, ...]


KINDS = {
    "csv": Kind("CSV", "", "all", ("--header",)),
    "zst": Kind("CSV by zstd", ".zst", "all", ("--header",)),
    "parquet": Kind("Parquet", ".parquet", "all", ()),
    "columns": Kind("Parquet, three of sixteen columns", ".parquet", "three", ("--ignore-extra",)),
}


def main(args: list[str]) -> int:
    """Measure, write the record if it is the whole benchmark, and return the exit status."""
    parser = argparse.ArgumentParser(prog="make bench CASE=objects")
    parser.add_argument("--scale", type=float, default=1, help="TPC-H's scale factor")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="connections of pgsluice")
    parser.add_argument("--memory", type=int, default=512, help="memory of pgsluice, in MiB")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each way")
    options = parser.parse_args(args)
    rows = inputs.lineitem_files(options.scale)
    files = {name: Path(f"{rows.file}{kind.suffix}") for name, kind in KINDS.items()}
    with site.opened(None, None, list(SETTINGS)) as place, store([*files.values()]) as about:
        bench = Bench(place, options, files, about)
        measured = [*bench.rounds(rows.count)]
        sizes = {f"{name} bytes": file.stat().st_size for name, file in files.items()}
        programs = {"SeaweedFS": about["version"]}
        given = {**vars(options), **sizes}
        record = Rounds.from_measured(
            "objects", place, given, programs, titles(), rows.count, measured
        )
    return goals.end(record, is_whole=not args)


def titles() -> dict[str, str]:
    """Return all ways in words: from the disk, and with each delay."""
    ways = {}
    for name, kind in KINDS.items():
        ways[name] = f"{kind.title}, a file"
        ways |= {f"{name}-{each}": f"{kind.title}, an object at {each} ms" for each in DELAYS}
    return ways


@contextmanager
def store(files: list[Path]) -> Iterator[Mapping]:
    """Start the S3 server, and fill it. Yields what `objects_store` prints."""
    programs = ENVIRONMENT / "bin"
    driver = Path(__file__).with_name("objects_store.py")
    # Without -P, this file would be found in place of the package of the tests.
    command = [programs / "python", "-P", driver, *dict.fromkeys(files)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "python" / "tests"),
        },
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        try:
            print("making ready: the store", flush=True)
            printed = process.stdout.readline()
            if not printed:
                raise LabError("the store did not start", hint="make bench CASE=objects")
            yield json.loads(printed)
        finally:
            process.stdin.close()


@dataclass(frozen=True)
class Bench:
    """The server, and the store with its files."""

    place: Site
    options: argparse.Namespace
    files: Mapping[str, Path]
    store: Mapping

    def rounds(self, rows: int) -> Iterator[Round]:
        """Load by each way in turn. Fail if the number of rows is wrong."""
        schema = self.place.create()
        with proxy.running("127.0.0.1", self.store["port"], DELAYS) as running:
            for _ in range(self.options.rounds):
                for name in KINDS:
                    for delay in (None, *DELAYS):
                        done = self.load(schema, name, delay, running, rows)
                        print(f"{done.way:12} {done.seconds:8.2f} s", flush=True)
                        yield done

    def load(
        self, schema: str, name: str, delay: str | None, running: proxy.Proxy, rows: int
    ) -> Round:
        """Load a file, or its object with a delay, into a new table."""
        kind, file = KINDS[name], self.files[name]
        # Kept until the end, the tables of all loads would fill the disk.
        self.place.drop(schema)
        self.place.claim(schema)
        self.place.script(TABLES[kind.table], schema, {"schema": schema})
        self.place.checkpoint(always=True)
        environment = self.place.environment(schema)
        address = str(file)
        if delay is not None:
            environment |= self.store["environment"]
            environment["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{running.ports[delay]}"
            address = f"s3://{self.store['bucket']}/{file.name}"
        command = [needed("pgsluice"), "load", address, "-t", "lineitem", *kind.options, "-q"]
        command += ["-j", str(self.options.jobs), "--memory", f"{self.options.memory}MiB"]
        command += ["--load-id", self.place.load_id(), "-d", self.place.url]
        before = running.received()
        seconds = timed(command, env=environment, limit=LIMIT).seconds
        read = running.received() - before
        [[found]] = self.place.query(f"SELECT count(*) FROM {schema}.lineitem")
        if int(found) != rows:
            raise LabError(f"{name} has left {found} rows, not {rows}")
        way = name if delay is None else f"{name}-{delay}"
        return Round(way, round(seconds, 3), None if delay is None else read)


def section(record: Rounds) -> str:
    """Return the seconds for each file and delay, in Markdown."""
    given = record.parameters
    delays = "".join(f" {each} ms |" for each in DELAYS)
    lines = [f"| input | file |{delays} bytes read |", "|---|" + "--:|" * (len(DELAYS) + 2)]
    for name, kind in KINDS.items():
        times = (record.median(way) for way in (name, *(f"{name}-{each}" for each in DELAYS)))
        shown = " | ".join("" if each is None else f"{each:.2f}" for each in times)
        share = share_read(name)(record)
        lines.append(f"| {kind.title} | {shown} | {'' if share is None else f'{share:.2f}'} |")
    text = (
        f"TPC-H's `lineitem` at scale {given['scale']:g}, {record.rows:,} rows, seconds from the"
        f" disk and from SeaweedFS {record.programs['SeaweedFS']} on the same machine, by round"
        " trip to it. The last column is the share of the file's bytes that was read:"
    )
    return "\n".join([text, "", *lines])
