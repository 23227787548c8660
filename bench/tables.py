"""Records as Markdown: README's table, the table of goals, and a short table for each benchmark."""

from collections.abc import Callable

from bench.goals import GOALS, judge, limit, shown, verdict
from bench.rounds import PSQL, faster, median, ours, ways

SETTINGS = ["shared_buffers", "max_wal_size", "fsync", "synchronous_commit"]
Column = tuple[str, Callable[[list[dict], dict], str]]


# README's rows: the benchmark, its load in words, and what is added to the names of the two ways.
README = [
    ("hash800", "5 M pgbench rows, 800 hash leaves", "", ""),
    ("lineitem", "TPC-H lineitem, months x 4 hash leaves", "", ""),
    ("uuids", "9 M uuids, 16 hash leaves, primary key", "", ""),
    ("uuids", "the same into empty leaves, `--exchange`", "--exchange", ", empty leaves"),
    ("few", "100 rows, 800 hash leaves", "", ""),
]


def readme(records: dict[str, dict]) -> str:
    """Return a line for each of README's loads that was measured."""
    lines = [
        row("load", r"psql `\copy`, seconds", "pgsluice, seconds", "times as fast"),
        "|---|--:|--:|--:|",
    ]
    for bench, what, option, state in README:
        if record := records.get(bench):
            runs = record["runs"]
            psql, us = PSQL + state, ours(record["case"]["jobs"], option) + state
            spent = (brief(median(runs, "seconds", how=how)) for how in (psql, us))
            lines.append(row(what, *spent, f"{faster(runs, us, psql):.1f}"))
    return "\n".join(lines)


def brief(seconds: float) -> str:
    """Return seconds with the digits that are worth reading."""
    return f"{seconds:.2f}" if seconds >= 1 else f"{seconds:.3f}"


def goals(records: dict[str, dict]) -> str:
    """Return all goals as the records say, or as not measured."""
    lines = ["| load | against | measured | goal | |", "|---|---|---|---|---|"]
    for case in dict.fromkeys(goal.case for goal in GOALS):
        for goal in records.get(case, {}).get("goals") or judge(case, {}):
            value = "" if goal["measured"] is None else f"{shown(goal)} {goal['unit']}"
            lines.append(row(goal["what"], goal["against"], value, limit(goal), verdict(goal)))
    return "\n".join(lines)


def hash800(record: dict) -> str:
    case = record["case"]
    peak = max(run["client_peak_mib"] for run in record["runs"] if run["how"] == ours(case["jobs"]))
    return paragraphs(
        f"{case['rows']:,} rows of `pgbench_accounts` ({size(record)} of COPY text) into"
        f" {case['leaves']} hash leaves:",
        loads(record),
        f"Our peak memory was {peak:.0f} MiB at `--memory {case['memory_mib']}MiB`.",
    )


def lineitem(record: dict) -> str:
    case = record["case"]
    return paragraphs(
        f"TPC-H's `lineitem` at scale {case['scale']:g}, {case['rows']:,} rows ({size(record)} of"
        " CSV), into a partition for each month of `l_shipdate`, each of 4 hash partitions by"
        " `l_orderkey`:",
        loads(record),
    )


def uuids(record: dict) -> str:
    case = record["case"]
    return paragraphs(
        f"{case['rows']:,} random uuids ({size(record)} of COPY text) into {case['leaves']} hash"
        f" leaves with a primary key, where {case['before']:,} others were before unless it says"
        " that they were empty:",
        loads(record),
    )


def leaves(record: dict) -> str:
    case = record["case"]
    few, many = case["leaves"]
    lines = [
        f"| how | {few:,} leaves, seconds | {many:,} leaves, seconds | times |",
        "|---|--:|--:|--:|",
    ]
    for how in dict.fromkeys(run["how"] for run in record["runs"]):
        small, large = (median(record["runs"], "seconds", how=how, leaves=n) for n in (few, many))
        lines.append(row(how, f"{small:.2f}", f"{large:.2f}", f"{large / small:.1f}"))
    first, cpu = (
        1000 * median(record["openings"], figure, leaves=many)
        for figure in ("seconds", "cpu_seconds")
    )
    return paragraphs(
        f"{case['rows']:,} rows of `pgbench_accounts` ({size(record)}) into a tree of {few:,} hash"
        f" leaves, and of {many:,}:",
        "\n".join(lines),
        f"Opened for a single row, the large tree lets it go after {first:.0f} ms, {cpu:.0f} ms of"
        " them processor time of pgsluice; the rest is the server's, for the catalogue.",
    )


def few(record: dict) -> str:
    case = record["case"]
    return paragraphs(
        f"{case['rows']:,} such rows into {case['leaves']} hash leaves that have rows already:",
        loads(record, ("milliseconds", lambda runs, _: f"{1000 * median(runs, 'seconds'):.1f}")),
    )


def rejects(record: dict) -> str:
    case = record["case"]
    return paragraphs(
        f"{case['rows']:,} rows of `pgbench_accounts` ({size(record)}) into 16 hash leaves with a"
        " primary key and a constraint; half of the bad rows cannot be read, half break the"
        " constraint:",
        loads(record),
    )


def null(record: dict) -> str:
    case = record["case"]
    [how] = {run["how"] for run in record["runs"]}
    speed = f"{record['measured']['cpu']:,.0f} MB"
    return paragraphs(
        f"What we cost alone: `{how}` reads, routes and encodes `lineitem` at scale"
        f" {case['scale']:g} ({size(record)} of CSV) and sends nothing. It takes"
        f" {median(record['runs'], 'client_cpu_seconds'):.2f} s of processor time: **{speed} a"
        " second**.",
    )


def lanes(record: dict) -> str:
    case = record["case"]
    served, native = case["keys"]["served"], case["keys"]["native"]
    psql = record["runs"][0]["how"]

    def times(runs: list[dict], _: dict) -> str:
        return f"{faster(record['runs'], runs[0]['how'], psql):.2f}"

    return paragraphs(
        f"{case['rows']:,} rows of `pgbench_accounts` ({size(record)}) into {case['leaves']} hash"
        f" leaves of a table by `{served}`, and for the native lane of a table by `{native}`:",
        loads(record, *COLUMNS, ("times psql's speed", times)),
    )


def stages(record: dict) -> str:
    inputs = list(dict.fromkeys(each["input"] for each in record["stages"]))
    lines = [row("stage", *inputs), "|---|" + "--:|" * len(inputs)]
    for stage in dict.fromkeys(each["stage"] for each in record["stages"]):
        paces = {each["input"]: pace(each) for each in record["stages"] if each["stage"] == stage}
        lines.append(row(stage, *(paces.get(name, "") for name in inputs)))
    return paragraphs(
        "The stages of the core, one thread, nanoseconds a row and gigabytes a second:",
        "\n".join(lines),
    )


def pace(stage: dict) -> str:
    return f"{stage['ns_a_row']:.0f} ns, {stage['gb_a_second']:.2f} GB/s"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def figure(name: str, digits: int) -> Callable[[list[dict], dict], str]:
    """Return what gives the median of a figure; a dash where a record does not know it."""

    def text(runs: list[dict], _: dict) -> str:
        value = median(runs, name)
        return "-" if value is None else f"{value:,.{digits}f}"

    return text


COLUMNS: tuple[Column, ...] = (
    ("seconds", figure("seconds", 2)),
    ("rows/s", lambda runs, case: f"{case['rows'] / median(runs, 'seconds'):,.0f}"),
    ("client CPU s", figure("client_cpu_seconds", 2)),
    ("server CPU s", figure("server_cpu_seconds", 2)),
    ("client peak MiB", lambda runs, _: f"{max(run['client_peak_mib'] for run in runs):,.0f}"),
    ("WAL MiB", figure("wal_mib", 0)),
)


def loads(record: dict, *columns: Column) -> str:
    """Return each way to load as a line of a table."""
    columns = columns or COLUMNS
    lines = [row("how", *(name for name, _ in columns)), "|---|" + "--:|" * len(columns)]
    for which in ways(record["runs"]):
        runs = [run for run in record["runs"] if which.items() <= run.items()]
        lines.append(row(which["how"], *(cell(runs, record["case"]) for _, cell in columns)))
    return "\n".join(lines)


def date(record: dict) -> str:
    """Return when it was measured, and how often."""
    rounds = record["case"].get("rounds")
    what = f"Medians of {rounds} interleaved rounds" if rounds else "Medians of criterion"
    return f"{what}, {record['date'][:10]}."


def place(record: dict) -> str:
    """Return on what it was measured."""
    machine, server = record["machine"], record["postgresql"]
    return (
        f"Measured on {machine['cores']} cores ({machine['cpu']}) for client and server,"
        f" {machine['memory_gib']} GiB, PostgreSQL {server['version'].split()[0]} with"
        f" {settings(server['settings'])}."
    )


def settings(values: dict[str, str]) -> str:
    """Return the settings that a reader asks about first."""
    return ", ".join(f"`{name}={values[name]}`" for name in SETTINGS if name in values)


def size(record: dict) -> str:
    return f"{record['case']['bytes'] / 1e6:,.0f} MB"


def paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)
