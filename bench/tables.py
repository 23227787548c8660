"""Records as Markdown: README's table, the table of goals, and a short table for each benchmark."""

from collections.abc import Callable, Mapping

from pgsluice_lab.timing import MIB

from bench import delays
from bench.goals import GOALS, judge
from bench.grid import ENGINES, LARGE_FROM, cells, larger, later, mean, worst
from bench.move import markdown
from bench.move.record import Move
from bench.record import Record
from bench.rounds import Rounds
from bench.stages import Stage, Stages
from bench.writing import COPIES, WAYS, Writing

# A column: its name, and the function that fills it for an engine.
Column = tuple[str, Callable[[Record, str], str]]


# README's rows: the benchmark, its load in words, psql's engine, and ours.
README = [
    ("hash800", "5 M pgbench rows, 800 hash leaves", "psql", "pgsluice"),
    ("lineitem", "TPC-H lineitem, months x 4 hash leaves", "psql", "pgsluice"),
    ("uuids", "9 M uuids, 16 hash leaves, primary key", "psql", "pgsluice"),
    ("uuids", "the same into empty leaves, `--exchange`", "psql-empty", "pgsluice-exchange"),
    ("few", "100 rows, 800 hash leaves", "psql", "pgsluice"),
]


def readme(records: dict[str, Record]) -> str:
    """Return a line for each of README's loads that was measured."""
    lines = [
        row("load", r"psql `\copy`, seconds", "pgsluice, seconds", "times as fast"),
        "|---|--:|--:|--:|",
    ]
    for bench, what, psql, us in README:
        if record := records.get(bench):
            spent = (brief(record.median("seconds", each)) for each in (psql, us))
            lines.append(row(what, *spent, f"{record.faster(us, psql):.1f}"))
    return "\n".join(lines)


def brief(seconds: float) -> str:
    """Return seconds with the digits that matter."""
    return f"{seconds:.2f}" if seconds >= 1 else f"{seconds:.3f}"


def goals(records: Mapping[str, Record | Move | Rounds | None]) -> str:
    """Return all goals with their figures from the records, or as not measured."""
    lines = ["| load | against | measured | goal | |", "|---|---|---|---|---|"]
    for case in dict.fromkeys(goal.case for goal in GOALS):
        for each in judge(case, records.get(case)):
            goal = each.goal
            value = f"{each.shown} {goal.unit}" if each.shown else ""
            lines.append(row(goal.what, goal.against, value, each.limit, each.verdict))
    return "\n".join(lines)


def hash800(record: Record) -> str:
    given = record.head.parameters
    return paragraphs(
        f"{record.rows:,} rows of `pgbench_accounts` ({size(record)} of COPY text) into"
        f" {given['leaves']} hash leaves:",
        loads(record),
        f"Our peak memory was {record.peak('pgsluice'):.0f} MiB at"
        f" `--memory {given['memory']}MiB`.",
    )


def lineitem(record: Record) -> str:
    return paragraphs(
        f"TPC-H's `lineitem` at scale {record.head.parameters['scale']:g}, {record.rows:,} rows"
        f" ({size(record)} of CSV), into a partition for each month of `l_shipdate`, each of 4 hash"
        " partitions by `l_orderkey`:",
        loads(record),
    )


def files(record: Record) -> str:
    return paragraphs(
        f"The same rows of `lineitem` at scale {record.head.parameters['scale']:g},"
        f" {size(record)} of CSV, compressed by gzip and by zstd, as NDJSON and as Parquet, into"
        " the same table:",
        loads(record),
    )


def python(record: Record) -> str:
    accounts, lineitem = record.within("hash"), record.within("months")
    return paragraphs(
        f"{accounts.rows:,} rows of `pgbench_accounts` as a pyarrow table in the memory of a Python"
        f" program, into {record.head.parameters['leaves']} hash leaves; our command line has them"
        f" as a file ({size(accounts)} of COPY text):",
        loads(accounts),
        f"`lineitem` at scale {record.head.parameters['scale']:g}, {lineitem.rows:,} rows, in the"
        f" same way, into months x 4 hash leaves; the file is {size(lineitem)} of CSV:",
        loads(lineitem),
        "Python's start and the reading of the table are not counted, and neither is that a frame"
        " is made of it for polars and pandas. The memory of Python's loads is beside the table."
        " psycopg and pandas were run once.",
    )


def relation(record: Record) -> str:
    bare, keyed = record.at({"key": 0}), record.at({"key": 1})
    return paragraphs(
        f"{bare.rows:,} rows of `pgbench_accounts` ({size(bare)} as COPY text) from a plain table"
        f" into {record.head.parameters['leaves']} hash leaves without an index:",
        loads(bare),
        "Into leaves with a primary key:",
        loads(keyed),
        "The other server runs on the same machine; server CPU is that of both servers.",
    )


def uuids(record: Record) -> str:
    given = record.head.parameters
    return paragraphs(
        f"{record.rows:,} random uuids ({size(record)} of COPY text) into {given['leaves']} hash"
        f" leaves with a primary key, where {given['before']:,} others were before unless it says"
        " that they were empty:",
        loads(record),
    )


def leaves(record: Record) -> str:
    few, many = record.leaves
    lines = [
        f"| how | {few:,} leaves, seconds | {many:,} leaves, seconds | times |",
        "|---|--:|--:|--:|",
    ]
    for engine in ("psql", "pgsluice"):
        small, large = (record.median("seconds", engine, {"leaves": n}) for n in (few, many))
        lines.append(
            row(record.title(engine), f"{small:.2f}", f"{large:.2f}", f"{large / small:.1f}")
        )
    first, cpu = (
        1000 * record.median(figure, "pgsluice-opening", {"leaves": many})
        for figure in ("first_row_seconds", "first_row_cpu_seconds")
    )
    return paragraphs(
        f"{record.rows:,} rows of `pgbench_accounts` ({size(record)}) into a tree of {few:,} hash"
        f" leaves, and of {many:,}:",
        "\n".join(lines),
        f"Opened for a single row, the large tree lets it go after {first:.0f} ms, {cpu:.0f} ms of"
        " them processor time of pgsluice; the rest is the server's, for the catalogue.",
    )


def there(record: Record) -> str:
    given = record.head.parameters
    lines = [
        "| load | there before | psql, staged, seconds | pgsluice, seconds | times as fast |",
        "|---|--:|--:|--:|--:|",
    ]
    loads = (
        (f"{given['ids']:,} uuids, skipped", "psql-staged", "pgsluice-skip"),
        (f"{given['rows']:,} wide rows, updated", "psql-staged-update", "pgsluice-update"),
    )
    for what, psql, us in loads:
        for share in (0, 50, 100):
            theirs, ours = (record.median("seconds", each, {"share": share}) for each in (psql, us))
            lines.append(
                row(what, f"{share} %", f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.1f}")
            )
    plain = record.median("seconds", "pgsluice")
    return paragraphs(
        "Uuids into 16 hash leaves and rows of `pgbench_accounts` into 64, each with a primary"
        " key. psql copies into an unlogged table, and one statement takes them into the root:",
        "\n".join(lines),
        f"Without `--on-conflict` the uuids took {plain:.2f} s into empty leaves. Our peak memory"
        f" was {record.peak('pgsluice-skip'):.0f} MiB at `--memory {given['memory']}MiB`.",
    )


def few(record: Record) -> str:
    def milliseconds(record: Record, engine: str) -> str:
        return f"{1000 * record.median('seconds', engine):.1f}"

    return paragraphs(
        f"{record.rows:,} such rows into {record.head.parameters['leaves']} hash leaves that have"
        " rows already:",
        loads(record, ("milliseconds", milliseconds)),
    )


def grid(record: Record) -> str:
    ratios = {(c.rows, c.leaves, c.key, c.engine): c.ratio for c in cells(record)}
    rows, leaves, keys = (record.values(name) for name in ("rows", "leaves", "key"))
    columns = [(each, key) for key in keys for each in leaves]
    lines = [row("rows", *(tree(*each) for each in columns)), "|--:|" + "---|" * len(columns)]
    for number in rows:
        pairs = ([f"{ratios[number, *each, engine]:.2f}" for engine in ENGINES] for each in columns)
        lines.append(row(f"{number:,}", *(" / ".join(pair) for pair in pairs)))
    slow = worst(record)
    connections = record.title(slow.engine).split()[-2:]
    by_socket = record.head.parameters.get("socket")
    way = "a Unix-domain socket without a password" if by_socket else "TCP with a password"
    return paragraphs(
        "The time of `pgsluice load` by that of psql's `\\copy` of the same rows of"
        " `pgbench_accounts`, with `-j 1` / `-j 2`, the start of the process included; below 1.00"
        " pgsluice is faster. Plain is a table without partitions; the heading says how many hash"
        f" leaves the others have. All tables are empty before. Both connect by {way}:",
        "\n".join(lines),
        f"The geometric mean of the {len(larger(record))} cells from {LARGE_FROM:,} rows on is"
        f" **{mean(record):.2f}**; the worst is **{slow.ratio:.2f}**, {slow.rows:,} rows,"
        f" {tree(slow.leaves, slow.key)}, `{' '.join(connections)}`. Loads of fewer rows take at"
        f" most **{later(record):.1f} ms** longer. The other program is"
        f" `{record.head.engines['psql'].version}`. Each was run {repeated(record)}.",
    )


def repeated(record: Record) -> str:
    """Describe how often each size of the grid was loaded."""
    first = {"leaves": record.values("leaves")[0], "key": record.values("key")[0]}
    counts = {n: len(record.loads_of("psql", {"rows": n, **first})) for n in record.values("rows")}
    last = {rounds: rows for rows, rounds in counts.items()}
    return ", ".join(f"{rounds} times up to {rows:,} rows" for rounds, rows in last.items())


def tree(leaves: int, key: int) -> str:
    """Describe a table of the grid."""
    table = "plain" if not leaves else "1 leaf" if leaves == 1 else f"{leaves:,} leaves"
    return f"{table}, primary key" if key else table


def network(record: Record) -> str:
    small, large = min(record.values("rows")), max(record.values("rows"))
    trips = delays.delays(record)
    lines = [
        row("how", *(f"{each} ms" for each in ("0", *trips))),
        "|---|" + "--:|" * (1 + len(trips)),
    ]
    for engine in ("pgsluice", "pgsluice-eight"):
        grown = (delays.growth(record, engine, large, each) for each in ("0", *trips))
        lines.append(row(record.title(engine), *(f"{each:.2f}" for each in grown)))
    few = [row("how", *(f"{each} ms" for each in trips)), "|---|" + "--:|" * len(trips)]
    for rows in sorted(set(record.values("rows")) - {large}):
        for engine in ("psql", "pgsluice"):
            counts = (delays.round_trips(record, engine, rows, each) for each in trips)
            few.append(row(f"{rows:,} rows, {record.title(engine)}", *(f"{n:.1f}" for n in counts)))
    return paragraphs(
        f"{large:,} rows of `pgbench_accounts` into {record.head.parameters['leaves']} hash leaves"
        " over a network with a round trip of so long, as times of the loopback. At 0 ms they go"
        " through the proxy that delays the others; the loopback is without it:",
        "\n".join(lines),
        f"For how many round trips loads of {small:,} rows and more into 16 hash leaves wait, from"
        " the start of the program to its end: what they take longer than at 0 ms, by the round"
        " trip:",
        "\n".join(few),
    )


def rejects(record: Record) -> str:
    return paragraphs(
        f"{record.rows:,} rows of `pgbench_accounts` ({size(record)}) into 16 hash leaves with a"
        " primary key and a constraint; half of the bad rows cannot be read, half break the"
        " constraint:",
        loads(record),
    )


def null(record: Record) -> str:
    [judged] = judge("null", record)
    engine = "pgsluice-null"
    return paragraphs(
        f"What we cost alone: `{record.title(engine)}` reads, routes and encodes `lineitem` at"
        f" scale {record.head.parameters['scale']:g} ({size(record)} of CSV) and sends"
        f" nothing. It takes {record.median('client_cpu_seconds', engine):.2f} s of processor time:"
        f" **{judged.shown} MB a second**.",
    )


def lanes(record: Record) -> str:
    given = record.head.parameters

    def times(record: Record, engine: str) -> str:
        return f"{record.faster(engine, 'psql'):.2f}"

    return paragraphs(
        f"{record.rows:,} rows of `pgbench_accounts` ({size(record)}) into {given['leaves']} hash"
        f" leaves of a table by `{given['served']}`, and for the native lane of a table by"
        f" `{given['native']}`:",
        loads(record, *COLUMNS, ("times psql's speed", times)),
    )


def writing(record: Writing) -> str:
    """Return the batches by size, and the copies within a transaction."""
    sizes = list(dict.fromkeys(each.rows for each in record.batches))
    ways = list(dict.fromkeys(each.way for each in record.batches))
    lines = [
        row("rows a batch", *(f"{WAYS[way]}: rows/s, p50, p99" for way in ways)),
        "|--:|" + "--:|" * len(ways),
    ]
    for rows in sizes:
        cells = (
            f"{each.rows_a_second:,.0f}, {each.p50_ms:.2f} ms, {each.p99_ms:.2f} ms"
            for each in (record.batch(way, rows) for way in ways)
        )
        lines.append(row(f"{rows:,}", *cells))
    trees = list(dict.fromkeys(each.leaves for each in record.copies))
    copies = list(dict.fromkeys(each.way for each in record.copies))
    below = [row("seconds", *(f"{n} leaves" for n in trees)), "|---|" + "--:|" * len(trees)]
    below += [
        row(COPIES[way], *(f"{record.copied(way, n).seconds:.2f}" for n in trees)) for way in copies
    ]
    rows = record.copies[0].rows
    return paragraphs(
        "pgbench's accounts in 800 hash leaves; each batch is committed, durably, before the next:",
        "\n".join(lines),
        f"{rows:,} rows of a table in memory, within a transaction that is rolled back:",
        "\n".join(below),
        "![Rows a second of each way to write](writing.svg)",
    )


def move(record: Move) -> str:
    """Return the ways to partition a table, and the waits of the writers."""
    picture = "![Seconds of each way to partition, and latency of the writers](move.svg)"
    return paragraphs(markdown.tables(record), picture)


def stages(record: Stages) -> str:
    inputs = list(dict.fromkeys(each.input for each in record.stages))
    lines = [row("stage", *inputs), "|---|" + "--:|" * len(inputs)]
    for stage in dict.fromkeys(each.stage for each in record.stages):
        paces = {each.input: pace(each) for each in record.stages if each.stage == stage}
        lines.append(row(stage, *(paces.get(name, "") for name in inputs)))
    return paragraphs(
        "The stages of the core, one thread, nanoseconds a row and gigabytes a second:",
        "\n".join(lines),
    )


def pace(stage: Stage) -> str:
    return f"{stage.ns_a_row:.0f} ns, {stage.gb_a_second:.2f} GB/s"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def figure(name: str, digits: int, unit: float = 1) -> Callable[[Record, str], str]:
    """Return a function for the median of a figure, which is a dash if a record lacks it."""

    def text(record: Record, engine: str) -> str:
        value = record.median(name, engine)
        return "-" if value is None else f"{value / unit:,.{digits}f}"

    return text


COLUMNS: tuple[Column, ...] = (
    ("seconds", figure("seconds", 2)),
    ("rows/s", lambda record, engine: f"{record.rows / record.median('seconds', engine):,.0f}"),
    ("client CPU s", figure("client_cpu_seconds", 2)),
    ("server CPU s", figure("server_cpu_seconds", 2)),
    ("client peak MiB", lambda record, engine: f"{record.peak(engine):,.0f}"),
    ("WAL MiB", figure("wal_bytes", 0, MIB)),
)


def loads(record: Record, *columns: Column) -> str:
    """Return each way to load as a line of a table."""
    columns = columns or COLUMNS
    lines = [row("how", *(name for name, _ in columns)), "|---|" + "--:|" * len(columns)]
    for engine in dict.fromkeys(engine for engine, _ in record.ways):
        lines.append(row(record.title(engine), *(cell(record, engine) for _, cell in columns)))
    return "\n".join(lines)


def size(record: Record) -> str:
    return f"{record.bytes / 1e6:,.0f} MB"


def paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)
