"""Put the newest figures of each benchmark into README.md, between its two markers, and a chart.

Figures are never typed by hand: a record is measured, this program copies it.
"""

import re
import sys

from bench import tables
from bench.chart import chart
from bench.place import ROOT
from bench.record import newest

CHART = ROOT / "docs" / "figures.svg"
TABLES = {
    "hash800": tables.hash800,
    "lineitem": tables.lineitem,
    "uuids": tables.uuids,
    "leaves": tables.leaves,
    "few": tables.few,
    "lanes": tables.lanes,
    "rejects": tables.rejects,
    "null": tables.null,
    "stages": tables.stages,
}
# The benchmarks that the chart shows.
TITLES = {
    "hash800": "5 M pgbench rows into 800 hash leaves",
    "lineitem": "TPC-H lineitem, scale 1, into months x 4 hash leaves",
    "uuids": "9 M uuids into 16 hash leaves with a primary key",
}


def main() -> int:
    """Rewrite README.md and the chart, and return the exit status."""
    records = {bench: record for bench in TABLES if (record := newest(bench))}
    if not records:
        sys.exit("bench-report: no record; measure one by `make bench`")
    readme = ROOT / "README.md"
    everywhere = {tables.place(record) for record in records.values() if "postgresql" in record}
    shared = everywhere if len(everywhere) == 1 else ()
    text = splice(readme.read_text(), "goals", tables.goals(records), *shared)
    for bench, record in records.items():
        own = [tables.place(record)] if not shared and "postgresql" in record else []
        text = splice(text, bench, TABLES[bench](record), " ".join([tables.date(record), *own]))
    readme.write_text(text)
    if panels := [(title, records[bench]) for bench, title in TITLES.items() if bench in records]:
        CHART.write_text(chart(panels))
    return 0


def splice(document: str, bench: str, *paragraphs: str) -> str:
    """Replace what is between the markers of a benchmark."""
    text = "\n\n".join(paragraphs)
    markers = re.compile(rf"(<!-- bench:{bench} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not markers.search(document):
        sys.exit(f"bench-report: README.md has no <!-- bench:{bench} --> ... <!-- /bench -->")
    return markers.sub(lambda found: f"{found[1]}{text}\n{found[2]}", document)


if __name__ == "__main__":
    sys.exit(main())
