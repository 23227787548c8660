"""Run the benchmark, print its tables, and write its record."""

from datetime import UTC, datetime

import pgsluice
from pgsluice_lab import site
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine, Postgresql

from bench import goals
from bench.move import markdown, options, phases, speed, swaps
from bench.move.record import Move
from bench.place import ROOT
from bench.record import commit


def main(args: list[str]) -> int:
    """Measure, write the record if it is the whole benchmark, and return the exit status."""
    size, parts, whole = options.read(args)
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    with site.opened(None) as place:
        # The speed first: memory that Python uses later would count for its children.
        record = Move(
            date=now,
            pgsluice=pgsluice.__version__,
            commit=commit(),
            parameters=vars(size),
            machine=Machine(**machine()),
            postgresql=Postgresql(**place.described()),
            ways=speed.measure(place, size) if "speed" in parts else [],
            writing=phases.measure(place, size) if "phases" in parts else None,
            swaps=swaps.measure(place, size) if "swaps" in parts else [],
        )
    print(f"\n{markdown.tables(record)}")
    goals.show(goals.judge("move", record), "what it must show")
    if not whole:
        print("\nnot the whole benchmark, so no record is written")
        return 0
    file = record.write()
    print(f"\nrecord: {file.relative_to(ROOT)}; `make bench-report` puts it into the documentation")
    return 0
