"""Put the newest figures of each benchmark into README.md, between its two markers.

Figures are never typed by hand: a record is measured, this program copies it.
"""

import re
import sys

from bench.record import newest
from bench.server import ROOT


def main() -> int:
    """Rewrite README.md and return the exit status."""
    tables = {"hash800": hash800, "leaves": leaves, "lanes": lanes}
    records = {bench: newest(bench) for bench in tables}
    if not any(records.values()):
        sys.exit("bench-report: no record; measure one by `make bench`")
    readme = ROOT / "README.md"
    text = readme.read_text()
    for bench, record in records.items():
        if record:
            text = splice(text, bench, tables[bench](record))
    readme.write_text(text)
    return 0


def splice(document: str, bench: str, text: str) -> str:
    """Replace what is between the markers of a benchmark."""
    markers = re.compile(rf"(<!-- bench:{bench} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not markers.search(document):
        sys.exit(f"bench-report: README.md has no <!-- bench:{bench} --> ... <!-- /bench -->")
    return markers.sub(lambda found: f"{found[1]}{text}{found[2]}", document)


def hash800(record: dict) -> str:
    """Return the record of hash800 as Markdown."""
    case = record["case"]
    lines = [
        f"{case['rows']:,} rows of `pgbench_accounts` ({case['bytes'] / 1e6:.0f} MB of COPY text)"
        f" into {case['leaves']} hash leaves:",
        "",
        "| how | seconds | rows/s | client CPU s | client peak MiB |",
        "|---|--:|--:|--:|--:|",
        *(line(record, how) for how in record["medians"]),
        "",
        f"pgsluice is **{record['ratio']:.1f} times** as fast as `psql \\copy` into the root."
        f" Its peak memory was {record['peak_mib']:.0f} MiB at `--memory {case['memory_mib']}MiB`.",
        "",
        terms(record),
    ]
    return "\n".join(lines) + "\n"


def leaves(record: dict) -> str:
    """Return the record of leaves as Markdown."""
    case, (few, many) = record["case"], record["case"]["leaves"]
    ours, ratio = list(record["ratios"].items())[-1]
    lines = [
        f"{case['rows']:,} such rows ({case['bytes'] / 1e6:.0f} MB) into a tree of {few:,} hash"
        f" leaves, and of {many:,}:",
        "",
        f"| how | {few:,} leaves, seconds | {many:,} leaves, seconds | times |",
        "|---|--:|--:|--:|",
        *(
            f"| {how} | {small:.2f} | {large:.2f} | {record['ratios'][how]:.1f} |"
            for how, (small, large) in record["medians"].items()
        ),
        "",
        f"`{ours}` takes **{ratio:.1f} times** as long for {many:,} leaves. Opened for a single"
        f" row, the large tree lets it go after {record['first_row'][1] * 1000:.0f} ms,"
        f" {record['first_row_cpu'][1] * 1000:.0f} ms of them processor time of pgsluice;"
        " the rest is the server's, for the catalogue.",
        "",
        terms(record),
    ]
    return "\n".join(lines) + "\n"


def lanes(record: dict) -> str:
    """Return the record of lanes as Markdown."""
    case = record["case"]
    served, native = case["keys"]["served"], case["keys"]["native"]
    lines = [
        f"{case['rows']:,} such rows ({case['bytes'] / 1e6:.0f} MB) into {case['leaves']} hash"
        f" leaves of a table by `{served}`, and for the native lane of a table by `{native}`:",
        "",
        "| how | seconds | rows/s | client CPU s | client peak MiB | times psql's speed |",
        "|---|--:|--:|--:|--:|--:|",
        *(f"{line(record, how)} {ratio:.2f} |" for how, ratio in record["ratios"].items()),
        "",
        terms(record),
    ]
    return "\n".join(lines) + "\n"


def terms(record: dict) -> str:
    """Return when and on what it was measured."""
    machine = record["machine"]
    return (
        f"Medians of {record['case']['rounds']} interleaved rounds, {record['date'][:10]},"
        f" {machine['cores']} cores ({machine['cpu']}) for client and server,"
        f" {machine['memory_gib']} GiB,"
        f" PostgreSQL {record['postgresql']['version'].split()[0]} with"
        f" {settings(record['postgresql']['settings'])}. By `make bench`."
    )


def line(record: dict, how: str) -> str:
    """Return one way to load as a line of the table: the medians of time, the peak of memory."""
    runs = [run for run in record["runs"] if run["how"] == how]
    seconds = record["medians"][how]
    cpu = sorted(run["client_cpu_seconds"] for run in runs)[len(runs) // 2]
    peak = max(run["client_peak_mib"] for run in runs)
    speed = record["case"]["rows"] / seconds
    return f"| {how} | {seconds:.2f} | {speed:,.0f} | {cpu:.2f} | {peak:.0f} |"


def settings(values: dict[str, str]) -> str:
    """Return the settings that a reader asks about first."""
    names = ["shared_buffers", "max_wal_size", "fsync", "synchronous_commit"]
    return ", ".join(f"`{name}={values[name]}`" for name in names if name in values)


if __name__ == "__main__":
    sys.exit(main())
