"""The measurements: creates the copies, and loads them in interleaved rounds in each way.

A copy of a large tree is expensive, so each is created once, and all ways load into the same ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgsluice_lab import forms, measure, stage
from pgsluice_lab.advise import scratch
from pgsluice_lab.advise.facts import Facts
from pgsluice_lab.advise.figures import (
    BARE,
    COPY,
    EXCHANGE,
    INSERT,
    OURS,
    PLAIN,
    TREE,
    Figures,
    Load,
    Way,
)
from pgsluice_lab.advise.sample import Sample
from pgsluice_lab.engine import Engine, available
from pgsluice_lab.experiment import Case, Experiment, Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.inputs import Rows
from pgsluice_lab.site import Site
from pgsluice_lab.stage import Stage

Say = Callable[[str, int], None]
TITLES = {TREE: "the table", PLAIN: "a plain table", BARE: "the table without indexes"}
AT_ONCE = (COPY, "psql-ordered", "psql-leaves", EXCHANGE)
BATCHES = {1: 300, 10: 1_000, 100: 5_000, 1_000: 20_000}
# The maximum number of values in one statement.
PARAMETERS = 65_535
LIMIT = 120
# The recommended ways are also measured with a part of the rows: a result that holds for both sizes
# holds between them.
FEWER = 10
# The locks are counted when all rows are written, within the statement: locks on indexes are
# released at its end.
LOCKS = """WITH rows AS (
        INSERT INTO {tree} ({columns}) SELECT {columns} FROM {plain} RETURNING tableoid AS leaf),
    written AS MATERIALIZED (SELECT count(DISTINCT leaf) AS leaves FROM rows)
    SELECT (SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
        WHERE pid = pg_backend_pid() AND relnamespace = %s::regnamespace AND leaves > 0), leaves
    FROM written"""


@dataclass(frozen=True)
class Trial:
    """The effort of the measurement: rounds, and the maximum number of connections."""

    rounds: int
    jobs: int

    @property
    def ends(self) -> list[int]:
        """Return the smallest and the largest number of connections."""
        return sorted({1, self.jobs})

    @property
    def ladder(self) -> list[int]:
        """Return the numbers of connections to try: doubled each time, and the maximum."""
        powers = [1 << step for step in range(self.jobs.bit_length())]
        return sorted({*powers, self.jobs})


def ways(facts: Facts, trial: Trial, rows: int) -> list[Way]:
    """Return all ways that are measured with this number of rows, in the order of a round."""
    found = [Way(TREE, COPY)]
    if facts.partitioned:
        found.append(Way(PLAIN, COPY))
    if facts.indexes[1]:
        found.append(Way(BARE, COPY))
    engines = AT_ONCE if facts.partitioned else (COPY,)
    found += [Way(TREE, engine, trial.jobs) for engine in engines]
    found += [Way(TREE, OURS, jobs) for jobs in trial.ladder]
    most = PARAMETERS // max(1, len(facts.loaded))
    found += [Way(TREE, INSERT, 1, batch) for batch in BATCHES if batch <= most]
    if fewer := rows // FEWER:
        engines = (COPY, OURS, EXCHANGE) if facts.partitioned else (COPY, OURS)
        few = [Way(TREE, each, jobs, rows=fewer) for each in engines for jobs in trial.ends]
        found += [way for way in few if replace(way, rows=0) in found]
    return list(dict.fromkeys(found))


def run(facts: Facts, sample: Sample, trial: Trial, site: Site, folder: Path, say: Say) -> Figures:
    """Create the copies in schemas of the lab, and measure."""
    wanted = ways(facts, trial, sample.rows.count)
    engines, _ = available(dict.fromkeys(way.engine for way in wanted))
    steps = len(wanted) * trial.rounds + len({way.case for way in wanted})
    try:
        stages = prepare(facts, sample, trial, site, folder, engines, say, steps)
        sizes = {*BATCHES.values(), *(way.rows for way in wanted if way.rows)}
        heads = {size: head(sample.rows, size) for size in sizes}
        loads = []
        for number in range(1, trial.rounds + 1):
            turn = (number - 1) * len(wanted) // trial.rounds
            for way in wanted[turn:] + wanted[:turn]:
                engine = engines[way.engine]
                say(f"round {number}: {TITLES[way.case]}, {engine.title}", steps)
                ready = fitted(stages[way.case], way, heads, engine.oneself)
                ready.reset(folder)
                loads.append(load_figures(way, number, measure.load(ready, engine, LIMIT), facts))
        say("locks", steps)
        locks, leaves = locked(facts, stages, sample)
    except LabError as error:
        raise LabError(
            error.message, scratch.original(error.detail, facts), error.hint, error.status
        ) from error
    return Figures(loads, locks, leaves)


def prepare(
    facts: Facts,
    sample: Sample,
    trial: Trial,
    site: Site,
    folder: Path,
    engines: dict[str, Engine],
    say: Say,
    steps: int,
) -> dict[str, Stage]:
    """Create the copies, and load each once, so that no measurement is cold."""
    scripts = {TREE: scratch.tree(facts)}
    if facts.partitioned:
        scripts[PLAIN] = scratch.plain(facts)
    if facts.indexes[1]:
        scripts[BARE] = scratch.tree(facts, indexes=False)
    parameters = {"rows": sample.rows.count, "jobs": trial.jobs, "batch": 1}
    scale = Scale("advice", trial.rounds, LIMIT, parameters)
    stages = {}
    for name, text in scripts.items():
        say(f"making {TITLES[name]}", steps)
        (folder / f"{name}.sql").write_text(text)
        named = list(engines) if name == TREE else [COPY]
        case = Case(name, TITLES[name], f"{name}.sql", scratch.ROOT, named, input="sample")
        experiment = Experiment("advice", folder, "Advice", "", 0, {}, [case])
        own = [engines[each] for each in named]
        stages[name] = stage.prepare(
            experiment, case, scale, {}, own, site, folder, lambda *_: sample.rows
        )
    return stages


def fitted(ready: Stage, way: Way, heads: dict[int, Rows], oneself: bool) -> Stage:
    """Return the stage with the connections, or the rows and the batch, of one way."""
    names = {**ready.names, "jobs": way.jobs, "batch": way.batch}
    if way.batch or way.rows:
        rows = heads[way.rows or BATCHES[way.batch]]
        whole = [rows.file] if oneself else forms.parts(rows.file, way.jobs, ready.scratch)
        files = {**ready.files, "whole": whole}
        return replace(ready, rows=rows, names=names, expected=rows.count, added=None, files=files)
    if way.jobs == 1:
        return replace(ready, names=names, files={**ready.files, "whole": [ready.rows.file]})
    return replace(ready, names=names)


def head(rows: Rows, count: int) -> Rows:
    """Return the first rows, in a separate file."""
    if count >= rows.count:
        return rows
    file = rows.file.with_name(f"{rows.file.name}-{count}")
    with rows.file.open("rb") as source, file.open("wb") as out:
        for _ in range(count):
            out.write(source.readline())
    return replace(rows, file=file, count=count)


def load_figures(way: Way, number: int, load: dict, facts: Facts) -> Load:
    """Return the figures of a load's record that advice needs."""
    if load["status"] != "done":
        return Load(way, number, reason=scratch.original(load["reason"], facts))
    figures = load["seconds"], load["rows_per_second"], load["wal_bytes"]
    return Load(way, number, *figures)


def locked(facts: Facts, stages: dict[str, Stage], sample: Sample) -> tuple[int | None, int]:
    """Return the locks of one statement that writes all rows through the root, and the leaves.

    It writes the rows that the last load left in the plain table. Like COPY, it holds its locks to
    its end.
    """
    if not facts.partitioned:
        return None, 0
    tree, plain = stages[TREE], stages[PLAIN]
    tree.reset(tree.scratch)
    names = {"tree": tree.table, "plain": plain.table, "columns": sample.rows.columns}
    connection = tree.site.connection
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(LOCKS.format(**names), [tree.schema])
        [[locks, leaves]] = cursor.fetchall()
    return locks, leaves
