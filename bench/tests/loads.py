"""Made-up records of benchmarks."""

from pgsluice_lab.record import Head, Load, Machine, Postgresql, Program

from bench.record import Record

PSQL = r"psql \copy into the root"
TITLES = {"psql": PSQL, "pgsluice": "pgsluice load -j 2"}


def a_record(
    bench: str,
    seconds: dict[str, list[float]],
    parameters: dict[str, object] | None = None,
    point: dict[str, object] | None = None,
) -> Record:
    """Return a record with these seconds of each engine, a load of 100 rows in each round."""
    head = Head(
        experiment=bench,
        scale="full",
        date="2026-11-21T20:00:00+00:00",
        pgsluice="0.1.0",
        rounds=max(map(len, seconds.values())),
        parameters={"jobs": 2, **(parameters or {})},
        machine=Machine(2, "A Processor", 8, "Linux x86_64"),
        postgresql=Postgresql("18.6", {"fsync": "on"}, 18, embedded=True),
        engines={name: Program(TITLES.get(name, name)) for name in seconds},
        version=2,
    )
    loads = [
        Load(
            "case",
            point or {},
            engine,
            number,
            "done",
            seconds=spent,
            client_cpu_seconds=0.1,
            client_peak_mib=20.0,
            input_bytes=1000,
            rows=100,
        )
        for engine, rounds in seconds.items()
        for number, spent in enumerate(rounds, 1)
    ]
    return Record(head, loads)
