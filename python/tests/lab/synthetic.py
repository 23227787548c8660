"""Made-up experiments and records, with everything that a report must be able to show.

The figures follow simple formulas with a little noise from the round, so that a test can predict
the result: psql takes a second for a million rows, and twice that with the most hash partitions.
"""

import tomllib
from pathlib import Path

from pgsluice_lab import record
from pgsluice_lab.experiment import Experiment, parse
from pgsluice_lab.record import Head, Load, Machine, Postgresql, Program, Run

BULKLOAD = """
title = "Bulk load into range and hash partitions"
seed = "A published article <about> bulk loads"
url = "https://example.org/bulkload"
question = "What does partitioning cost a COPY, and what is the way out?"
order = 1

[scale.small]
rounds = 3
limit = 60
rows = [250_000, 500_000]
partitions = [200, 400, 600, 800]

[[case]]
name = "none"
title = "one plain table"
schema = "none.sql"
table = "accounts"
axes = ["rows"]
engines = ["psql", "pgsluice"]

[[case]]
name = "hash"
title = "hash partitions"
schema = "hash.sql"
table = "accounts"
axes = ["rows", "partitions"]
engines = ["psql", "psql-ordered", "pgsluice"]

[[chart]]
title = "Time by number of partitions, at the largest size"
x = "partitions"
where = { rows = "max" }
axis = { x = "partitions", y = "seconds" }

[[chart]]
title = "Time by size, at 400 partitions"
x = "rows"
where = { partitions = 400 }
engines = ["psql"]
log = ["x", "y"]

[[chart]]
title = "WAL of each engine, at the largest size"
figure = "wal_bytes"
x = "engine"
where = { rows = "max", partitions = "max" }
cases = ["hash"]

[[chart]]
title = "Time of each case"
x = "case"
where = { rows = "max", partitions = "max" }

[[chart]]
title = "Time by server"
x = "server"
where = { rows = "max", partitions = "max" }
cases = ["hash"]

[[figure]]
name = "hash800"
of = { case = "hash", engine = "psql", partitions = "max", rows = "max" }
over = { case = "none", engine = "psql", rows = "max" }

[[figure]]
name = "hash800before"
of = { case = "hash", engine = "psql", partitions = "max", rows = "max", server = 13 }
over = { case = "hash", engine = "psql", partitions = "max", rows = "max" }

[[figure]]
name = "exchange"
of = { case = "hash", engine = "pgsluice-exchange", partitions = "max", rows = "max" }

[[claim]]
says = "Without partitions a load is 2.8 times as fast as with 800, and 50 GB."
figure = "hash800"
published = "2.8 times as fast"
holds = [2.5, 4.0]
if_not = "The leaves are small here, so that switching between them costs less."

[[claim]]
says = "A load into a plain table is faster than into hash partitions."
figure = "hash800"
published = "1.6 to 2.8 times as fast"
holds = [1.1, 4.0]

[[claim]]
says = "An exchange is faster still."
figure = "exchange"
published = "9 s"
as = "s"
holds = [0, 9]

[[sentence]]
text = "COPY into a plain table was {hash800:fast} as into {partitions} hash partitions."

[[sentence]]
text = "An exchange took {exchange:s}."

[[advice]]
like = "{partitions} hash partitions"
options = [
    { do = "Copy", named = "psql's `\\\\copy`", case = "hash", engine = "psql", partitions = "max", rows = "max" },
    { do = "Load it with `pgsluice load`", named = "it", case = "hash", engine = "pgsluice", partitions = "max", rows = "max" },
]
"""  # noqa: E501
BATCHES = """
title = "INSERT against COPY, by rows a transaction"
seed = "A message to a mailing list"
question = "When is COPY worth it?"
order = 2

[scale.small]
rounds = 2
limit = 60
rows = 1000
batch = [1, 10, 100, 1000]

[[case]]
name = "batches"
title = "a table with a serial key and a long name that has to be wrapped somewhere"
schema = "copytest.sql"
table = "copytest"
axes = ["batch"]
engines = ["psycopg-insert", "psycopg-copy"]

[[chart]]
title = "Rows a second by rows a transaction"
figure = "rows_per_second"
x = "batch"
log = ["x", "y"]
"""
NOT_RUN = """
title = "An experiment that nobody has run"
question = "What then?"
order = 3

[scale.small]
rounds = 1
limit = 1
rows = 1

[[case]]
name = "plain"
title = "plain"
schema = "plain.sql"
table = "t"
engines = ["psql"]
"""
TITLES = {
    "psql": "psql \\copy",
    "psql-ordered": "psql \\copy, input ordered by partition",
    "pgsluice": "pgsluice",
    "psycopg-insert": "INSERT by psycopg",
    "psycopg-copy": "COPY by psycopg",
}
NOISE = {1: 1.0, 2: 1.1, 3: 0.95}
WRITTEN = "2026-11-21T20:00:00+00:00"


def experiments() -> list[Experiment]:
    """Return the made-up experiments. The last one was not run."""
    texts = {"bulkload": BULKLOAD, "batches": BATCHES, "nobody": NOT_RUN}
    return [parse(Path(name), tomllib.loads(text)) for name, text in texts.items()]


def write(folder: Path) -> None:
    """Write records of the first two on PostgreSQL 18, and of the first on 13."""
    bulkload, batches, _ = experiments()
    for major in (18, 13):
        loads = [*bulk_loads(bulkload, major), FAILED, *STOPPED]
        save(folder, bulkload, major, loads)
    save(folder, batches, 18, batch_loads(batches))


FAILED = Load(
    "none",
    {"rows": 500_000},
    "pgsluice",
    4,
    "wrong",
    reason="the table has 499,999 rows & not 500,000",
)
STOPPED = [
    Load(
        "hash",
        {"rows": 500_000, "partitions": 800},
        "pgloader",
        number,
        "stopped",
        reason="stopped after 60 seconds",
    )
    for number in (1, 2)
]


def bulk_loads(experiment: Experiment, major: int) -> list[Load]:
    loads = []
    for case in experiment.cases:
        for point in case.points(experiment.scales["small"]):
            for engine in case.engines:
                grown = 1 + point.get("partitions", 0) / 800
                routed = {"psql": grown, "psql-ordered": 1.1, "pgsluice": 0.4}[engine]
                age = 2 if major == 13 else 1
                seconds = point["rows"] / 1e6 * routed * age
                loads += rounds(case.name, point, engine, 3, seconds, point["rows"])
    return loads


def batch_loads(experiment: Experiment) -> list[Load]:
    loads = []
    for batch in experiment.scales["small"].values("batch"):
        for engine, each in (("psycopg-insert", 0.0002), ("psycopg-copy", 0.00001)):
            seconds = 1000 / batch * 0.002 + 1000 * each
            loads += rounds("batches", {"batch": batch}, engine, 2, seconds, 1000)
    return loads


def rounds(
    case: str, point: dict, engine: str, count: int, seconds: float, rows: int
) -> list[Load]:
    """Return a load in each round, each a little slower or faster."""
    return [
        Load(
            case,
            point,
            engine,
            number,
            "done",
            date=WRITTEN,
            seconds=seconds * NOISE[number],
            client_cpu_seconds=seconds / 4,
            server_cpu_seconds=seconds / 2,
            wal_bytes=rows * 100,
            table_bytes=rows * 120,
            index_bytes=0,
            rows=rows,
            rows_per_second=rows / seconds / NOISE[number],
            command=f"{engine.split('-')[0]} --of '{case}' \"$URL\" <input",
        )
        for number in range(1, count + 1)
    ]


def save(folder: Path, experiment: Experiment, major: int, loads: list[Load]) -> None:
    used = dict.fromkeys(load.engine for load in loads)
    about = {name: Program(TITLES[name], f"{name} 1.0") for name in used if name in TITLES}
    head = Head(
        experiment=experiment.name,
        scale="small",
        date=WRITTEN,
        pgsluice="0.1.0",
        rounds=experiment.scales["small"].rounds,
        parameters=experiment.scales["small"].parameters,
        machine=Machine(2, "A Processor of Some Kind @ 2.40GHz", 8, "Linux x86_64"),
        postgresql=Postgresql(
            f"{major}.6", {"shared_buffers": "4GB", "max_wal_size": "16GB"}, major, embedded=True
        ),
        engines={**about, "pgloader": Program("pgloader", missing="pgloader is not on the PATH")},
        version=record.VERSION,
    )
    file = folder / f"{experiment.name}-small-pg{major}-2026-11-21T200000.jsonl"
    run = Run(file, head, loads)
    run.write(run.lines())
    run.end()
