"""Advice on loading a table of the user: read, copied, measured, and summarized in ten lines.

The flow: `catalogue` (the facts of the table) -> `sample` (rows for the measurement) -> `scratch`
(the copies) -> `trial` (the measurements) -> `lines` (the advice). The table itself is only read.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pgsluice_lab import disk, inputs
from pgsluice_lab import site as sites
from pgsluice_lab import target as places
from pgsluice_lab.advise import catalogue, sample, scratch, trial
from pgsluice_lab.advise import lines as sentences
from pgsluice_lab.advise.facts import Facts
from pgsluice_lab.advise.figures import Figures
from pgsluice_lab.advise.lines import Asked
from pgsluice_lab.advise.sample import Format
from pgsluice_lab.advise.trial import Trial
from pgsluice_lab.advise.words import amount, over
from pgsluice_lab.failure import LabError
from pgsluice_lab.server import Server
from pgsluice_lab.site import Site

MANY = 5_000
# The number of tables to drop in one transaction, each with its indexes and their dependencies.
A_TRANSACTION = 100
# The number of copies of the input: as text, ordered, in parts and by leaf.
FORMS = 6


@dataclass(frozen=True)
class Wish:
    """The user's request; `rows` is the number of rows to measure with."""

    table: str
    file: Path | None = None
    form: Format = field(default_factory=Format)
    rows: int = 200_000
    rounds: int = 3
    jobs: int = 1
    target: str | None = None


@dataclass(frozen=True)
class Advice:
    facts: Facts
    figures: Figures
    source: str
    lines: list[str]


def advise(site: Site, wish: Wish, ask: Callable[[str], None], say: trial.Say) -> Advice:
    """Return advice on a table. `ask` gets a description of the plan, and raises to decline it."""
    facts = catalogue.read(site, wish.table)
    allowed(facts)
    if wish.file is None:
        sample.wanted(facts, site)
    size = extent(facts, wish)
    ways = len(trial.ways(facts, Trial(wish.rounds, wish.jobs), wish.rows))
    ask(intention(facts, ways * wish.rounds, size, wish.jobs))
    inputs.cache_folder().mkdir(parents=True, exist_ok=True)
    disk.check(FORMS * size, 0, inputs.cache_folder(), None)
    with emptied(site), tempfile.TemporaryDirectory(dir=inputs.cache_folder()) as place:
        folder = Path(place)
        rows = sample.take_sample(facts, site, wish.file, wish.form, wish.rows, folder)
        plan = Trial(wish.rounds, wish.jobs)
        figures = trial.run(facts, rows, plan, site, folder, say)
    asked = Asked(
        rows.source,
        rows.total,
        wish.rounds,
        wish.jobs,
        rows.rows.count,
        str(wish.file) if wish.file else "FILE",
        (*target_options(wish.target), "-t", wish.table, *load_options(wish)),
    )
    return Advice(facts, figures, rows.source, sentences.lines(facts, figures, asked))


def allowed(facts: Facts) -> None:
    """Fail if a table must not be copied: LIKE requires SELECT on each table."""
    closed = [node.name for node in facts.nodes if not node.readable]
    if closed:
        more = f" and {len(closed) - 1:,} more" if len(closed) > 1 else ""
        raise LabError(
            f"no permission to read {closed[0]}{more}",
            "Its definition is copied by CREATE TABLE (LIKE ...), which needs SELECT.",
            "GRANT SELECT ON the table and its partitions.",
        )


def extent(facts: Facts, wish: Wish) -> int:
    """Return the approximate size in bytes of the rows to measure with."""
    if wish.file:
        try:
            return min(wish.file.stat().st_size, wish.rows * 1_000, sample.MOST)
        except OSError as error:
            raise LabError(f"could not read {wish.file}", error.strerror or str(error)) from error
    each = facts.bytes / facts.rows if facts.rows else 1_000
    return int(min(facts.bytes, each * wish.rows, sample.MOST))


def intention(facts: Facts, loads: int, size: int, jobs: int) -> str:
    """Describe the plan."""
    made = scratch.tables(facts)
    many = ""
    if len(facts.leaves) > MANY:
        many = " That many tables take minutes to make, and each COPY through the root locks them."
    return (
        f"Advice makes {made:,} empty tables like those of {facts.table} in schemas of its own,"
        f" loads up to {amount(size)} of rows into them {loads:,} times{over(jobs, 'up to ')}, each"
        f" after a CHECKPOINT if you may ask for one, and drops them.{many} {facts.table} itself is"
        " only read."
    )


def target_options(target: str | None) -> tuple[str, ...]:
    """Return -d in a form that may be shown, without a password."""
    if not target:
        return ()
    secret = "password" in places.parts(places.conninfo_of(target))
    return ("-d", "..." if secret else target)


def embedded() -> str:
    """Return the URL of the embedded server, started if it is not running."""
    try:
        return Server.start(quiet=True).url
    except subprocess.CalledProcessError as error:
        raise LabError("could not start the embedded server", error.stderr.strip()) from error


def processors() -> int:
    """Return the number of connections that pgsluice uses by default."""
    return min(8, os.cpu_count() or 1)


def load_options(wish: Wish) -> list[str]:
    """Return pgsluice's options for the file's format."""
    form = wish.form
    if wish.file is None:
        return []
    # The format that pgsluice recognizes by the name.
    known = "csv" if wish.file.suffix == ".csv" else "text"
    options = [] if form.name == known else ["--format", form.name]
    options += ["--header"] if form.header else []
    given = {
        "--delimiter": form.delimiter or None,
        "--null": form.null,
        "--quote": form.quote or None,
        "--columns": form.columns or None,
    }
    return options + [
        word for name, text in given.items() if text is not None for word in (name, text)
    ]


def batched(rows: list[list[str]]) -> Iterator[list[str]]:
    """Yield names, as many as one transaction should lock."""
    for first in range(0, len(rows), A_TRANSACTION):
        yield [name for [name] in rows[first : first + A_TRANSACTION]]


@contextmanager
def emptied(site: Site) -> Iterator[None]:
    """Drop the created schemas at the end, even after an error."""
    try:
        yield
    finally:
        site.end_loads()
        for [schema] in site.lab_schemas():
            for some in batched(site.query(sites.LEAVES_FIRST, schema)):
                site.execute(sites.sql.SQL(f"DROP TABLE {', '.join(some)} CASCADE"))
            site.drop(schema)


@contextmanager
def opened(target: str | None, say: Callable[[str], None]) -> Iterator[Site]:
    """Open the server that pgsluice would use: from -d, the environment, or the embedded one."""
    place = places.find(target)
    if place is None:
        place = embedded()
        say("nothing names a server: on the embedded one (pgsluice server url)")
    with sites.opened(place) as site:
        yield site
