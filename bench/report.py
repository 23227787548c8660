"""Put the newest figures of each benchmark into its pages, between two markers, and into a chart.

Figures are never typed by hand: this program copies them from records.
"""

import re
import sys
from pathlib import Path

from bench import footers, kafka, objects, rounds, spark, stages, tables, writing
from bench.chart import chart, move_chart, writing_chart
from bench.correctness import markdown
from bench.correctness import record as correctness
from bench.correctness.record import Correctness
from bench.move import record as move
from bench.move.record import Move
from bench.place import ROOT
from bench.record import Record, newest
from bench.rounds import Rounds
from bench.stages import Stages
from bench.writing import Writing

README = ROOT / "README.md"
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
GOALS = ROOT / "bench" / "GOALS.md"
CHART = ROOT / "docs" / "figures.svg"
WRITING_CHART = ROOT / "docs" / "writing.svg"
MOVE_CHART = ROOT / "docs" / "move.svg"
TABLES = {
    "correctness": markdown.tables,
    "hash800": tables.hash800,
    "hash800-pg15": tables.hash800,
    "lineitem": tables.lineitem,
    "files": tables.files,
    "python": tables.python,
    "relation": tables.relation,
    "move": tables.move,
    "spark": spark.section,
    "kafka": kafka.section,
    "objects": objects.section,
    "writing": tables.writing,
    "uuids": tables.uuids,
    "leaves": tables.leaves,
    "there": tables.there,
    "few": tables.few,
    "lanes": tables.lanes,
    "rejects": tables.rejects,
    "null": tables.null,
    "grid": tables.grid,
    "grid-pg15": tables.grid,
    "network": tables.network,
    "stages": tables.stages,
}
# The benchmarks that the chart shows.
TITLES = {
    "hash800": "5 M pgbench rows into 800 hash leaves",
    "lineitem": "TPC-H lineitem, scale 1, into months x 4 hash leaves",
    "uuids": "9 M uuids into 16 hash leaves with a primary key",
}


def main() -> int:
    """Rewrite the pages and the chart, and return the exit status."""
    records = newest()
    if not records:
        sys.exit("bench-report: no record; measure one by `make bench`")
    rewrite(README, {"readme": tables.readme(records)})
    written, moved = writing.newest(), move.newest()
    others = {case: rounds.newest(case) for case in rounds.CASES}
    shown = {**records, "stages": stages.newest(), "writing": written, "move": moved, **others}
    shown |= {"correctness": correctness.newest()}
    rewrite(BENCHMARKS, {bench: section(bench, shown.get(bench)) for bench in TABLES})
    rewrite(GOALS, {"goals": tables.goals({**records, "move": moved, **others})})
    if panels := [(title, records[bench]) for bench, title in TITLES.items() if bench in records]:
        CHART.write_text(chart(panels))
    if written:
        WRITING_CHART.write_text(writing_chart(written))
    if moved:
        MOVE_CHART.write_text(move_chart(moved))
    return 0


def section(
    bench: str, record: Record | Stages | Writing | Move | Rounds | Correctness | None
) -> str:
    """Return a benchmark's table, with its date and machine, if it was measured."""
    if record is None:
        return "Not measured yet."
    place = [footers.place(record)] if isinstance(record, Record | Move | Rounds) else []
    return tables.paragraphs(TABLES[bench](record), " ".join([footers.date(record), *place]))


def rewrite(page: Path, texts: dict[str, str]) -> None:
    """Replace the text between the markers of each name."""
    document = page.read_text()
    for name, text in texts.items():
        document = splice(document, name, text)
    page.write_text(document)


def splice(document: str, name: str, text: str) -> str:
    """Replace the text between the markers of a name."""
    markers = re.compile(rf"(<!-- bench:{name} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not markers.search(document):
        sys.exit(f"bench-report: no page has <!-- bench:{name} --> ... <!-- /bench -->")
    return markers.sub(lambda found: f"{found[1]}{text}\n{found[2]}", document)


if __name__ == "__main__":
    sys.exit(main())
