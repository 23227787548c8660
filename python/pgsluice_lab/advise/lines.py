"""The advice in lines: turns facts and figures into sentences, each with its figure."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from pgsluice_lab.advise import settings
from pgsluice_lab.advise.facts import Facts, count
from pgsluice_lab.advise.figures import (
    BARE,
    COPY,
    EXCHANGE,
    INSERT,
    OURS,
    PLAIN,
    TREE,
    Figures,
    Way,
)
from pgsluice_lab.advise.words import NOTICED, amount, faster, over, short
from pgsluice_lab.report.numerals import digits, times

# The share of the best rate from which fewer connections are enough.
ENOUGH = 0.9
# The factor between the slowest and the fastest round of half of the ways, for a restless machine.
RESTLESS = 1.5
SMALL_LOAD = 10_000
# The share of the best rate that batches should reach.
MOST_OF_IT = 0.7
REFUSED = "pgsluice ended with status 1: error: "
NAMES = {COPY: r"psql's \copy", OURS: "pgsluice", EXCHANGE: "pgsluice --exchange"}
OTHERS = {
    COPY: "COPY",
    "psql-ordered": "COPY of rows ordered by partition before",
    "psql-leaves": "COPY of a file a leaf, made before",
    EXCHANGE: "pgsluice --exchange",
}


@dataclass(frozen=True)
class Asked:
    """The request: the command's arguments to repeat, and the size of the measurement."""

    source: str
    total: int | None = None
    rounds: int = 3
    jobs: int = 1
    rows: int = 200_000
    file: str = "FILE"
    options: tuple[str, ...] = ()

    def command(self, jobs: int, *more: str) -> str:
        """Return the command that loads in the best way."""
        name = self.file if self.file == "FILE" else shlex.quote(self.file)
        words = [*map(shlex.quote, self.options), *(["-j", str(jobs)]), *more]
        return f"pgsluice load {name} {' '.join(words)}"


def lines(facts: Facts, figures: Figures, asked: Asked) -> list[str]:
    """Return the advice, at most ten lines."""
    best = recommended(facts, figures)
    exchange = figures.fastest(TREE, EXCHANGE)
    found = [
        shape(facts),
        conditions(facts, figures, asked),
        partitioning(facts, figures),
        loading(facts, figures, asked, best),
        connections(figures),
        sizes(facts, figures, asked, best),
        indexes(facts, figures),
        writers(figures),
        *settings.lines(facts, figures, best, whole(facts, asked), exchange),
    ]
    return [line for line in found if line]


def whole(facts: Facts, asked: Asked) -> settings.Whole | None:
    if asked.total:
        return settings.Whole(asked.total, "the whole file")
    return settings.Whole(facts.rows, f"{digits(facts.rows)} rows") if facts.rows else None


def shape(facts: Facts) -> str:
    rows = f"about {digits(facts.rows)} rows" if facts.rows else "never analyzed"
    parts = [facts.shape, "no rows" if facts.empty == len(facts.leaves) else rows]
    least, most = facts.indexes
    each = f" ({most} a leaf)" if facts.partitioned else ""
    each = f" ({least} to {most} a leaf)" if least != most else each
    size = f"{amount(facts.bytes)} and {amount(facts.index_bytes)} of indexes{each}"
    parts.append(size if most else f"{amount(facts.bytes)}, no indexes")
    if facts.partitioned:
        parts.append(f"{facts.empty:,} of {count(len(facts.leaves), 'leaf', 'leaves')} empty")
    return f"{facts.table}: {'; '.join(parts)}."


def conditions(facts: Facts, figures: Figures, asked: Asked) -> str:
    rounds = f"medians of {asked.rounds} rounds" if asked.rounds > 1 else "one round"
    text = f"Measured with {asked.source}, as COPY text, into empty copies; PostgreSQL"
    text += f" {facts.server.version}, {rounds}."
    if asked.rows < SMALL_LOAD:
        text += " So few rows show how programs begin, and little else."
    if facts.not_copied:
        text += f" Not copied, so not in the figures: {', '.join(facts.not_copied)}."
    if figures.unrest > RESTLESS:
        text += f" Rounds differed by a factor of {times(figures.unrest)}: measure again in quiet."
    return text


def partitioning(facts: Facts, figures: Figures) -> str:
    root, plain = Way(TREE, COPY), Way(PLAIN, COPY)
    seconds = figures.middle(root)
    if seconds is None:
        return f"COPY through the root did not come out right: {figures.reason(TREE, COPY)}."
    if not facts.partitioned:
        rate = digits(figures.middle(root, "rows_per_second"))
        return f"Not partitioned, so there is nothing to pay for that: COPY loads {rate} rows/s."
    ratio = figures.ratio(root, plain)
    if ratio is None:
        return f"COPY into a plain table failed: {figures.reason(PLAIN, COPY)}."
    against = f"{short(seconds)} against {short(figures.middle(plain))}"
    if ratio < 1 / NOTICED:
        return (
            f"Partitioning makes a COPY faster: through the root it is {times(1 / ratio)} times as"
            f" fast as into a plain table with the same indexes: {against}."
        )
    if ratio < NOTICED:
        return f"Partitioning costs a COPY through the root nothing that shows: {against} plain."
    return (
        f"A COPY into a plain table with the same indexes is {times(ratio)} times as fast as"
        f" through the root: {against}; fewer partitions could save no more than that."
    )


def recommended(facts: Facts, figures: Figures, rows: int = 0) -> Way | None:
    """Return the fastest way that is possible for the table, with this number of rows."""
    # Files that are already ordered or divided by leaf are not free.
    engines = [COPY, OURS]
    if facts.partitioned and facts.empty == len(facts.leaves):
        engines.append(EXCHANGE)
    found = [way for engine in engines if (way := figures.fastest(TREE, engine, rows))]
    if not found:
        return None
    best = max(found, key=lambda way: rate(figures, way))
    # The fewest connections that are enough.
    same = [way for way in found_like(figures, best) if near(figures, way, best)]
    return min(same, key=lambda way: way.jobs)


def found_like(figures: Figures, best: Way) -> Iterator[Way]:
    return figures.ways(best.case, best.engine, best.rows)


def parts(jobs: int) -> str:
    return f" of the file in {jobs} parts at once" if jobs > 1 else ""


def near(figures: Figures, way: Way, best: Way) -> bool:
    return rate(figures, way) >= ENOUGH * rate(figures, best)


def rate(figures: Figures, way: Way) -> float:
    return figures.middle(way, "rows_per_second") or 0


def loading(facts: Facts, figures: Figures, asked: Asked, best: Way | None) -> str:
    if best is None:
        return ""
    root = Way(TREE, COPY)
    texts = {
        OURS: asked.command(best.jobs),
        EXCHANGE: asked.command(best.jobs, "--exchange"),
        COPY: r"psql's \copy" + parts(best.jobs),
    }
    text = f"Load with: {texts[best.engine]}: {digits(rate(figures, best))} rows/s"
    through = "one COPY through the root" if facts.partitioned else "one COPY"
    if best != root and (ratio := figures.ratio(root, best)):
        text += f", {faster(ratio)} {through}"
    others = [
        f"{name} {note}"
        for engine, name in {**OTHERS, OURS: "pgsluice"}.items()
        if engine != best.engine and (note := other(facts, figures, engine, asked.jobs, root))
    ]
    if not others:
        return text + "."
    against = " through the root" if facts.partitioned else ""
    return f"{text}. Speed of others{over(asked.jobs)}, to one COPY{against}: {'; '.join(others)}."


def other(facts: Facts, figures: Figures, engine: str, jobs: int, root: Way) -> str:
    """Return the speed of another way, or the reason why it is impossible."""
    way = Way(TREE, engine, jobs)
    if way == root:
        return ""
    ratio = figures.ratio(root, way)
    if ratio is None:
        reason = figures.reason(TREE, engine).removeprefix(REFUSED)
        return f"not possible ({reason})" if reason else ""
    note = f"{times(ratio)} times"
    if engine == EXCHANGE and facts.empty < len(facts.leaves):
        note += f" (only for empty leaves, which {facts.empty:,} of {len(facts.leaves):,} are)"
    return note


def connections(figures: Figures) -> str:
    found = list(figures.ways(TREE, OURS))
    if len(found) < 2:
        return ""
    best = max(found, key=lambda way: rate(figures, way))
    enough = min((way for way in found if near(figures, way, best)), key=lambda way: way.jobs)
    steps = ", ".join(f"{way.jobs}: {digits(rate(figures, way))}" for way in found)
    return f"Connections of pgsluice, and rows/s: {steps}. Take -j {enough.jobs}."


def sizes(facts: Facts, figures: Figures, asked: Asked, best: Way | None) -> str:
    """Say for how many rows the advice holds, from the two measured sizes."""
    fewer = figures.fewer
    other = recommended(facts, figures, fewer) if fewer and best else None
    if other is None:
        return ""
    small, all_rows = f"{fewer:,} rows", f"{asked.rows:,}"
    if other.engine != best.engine:
        slower = figures.fastest(TREE, best.engine, fewer)
        ahead = figures.ratio(slower, other) if slower else None
        speed = f"{faster(ahead)} {NAMES[best.engine]}" if ahead else "the fastest"
        return (
            f"This holds for loads of about {all_rows} rows and more: with {small}"
            f" {NAMES[other.engine]} is {speed}."
        )
    ratios = [
        figures.ratio(Way(TREE, COPY, rows=rows), way) for rows, way in ((fewer, other), (0, best))
    ]
    if best.engine == COPY or None in ratios:
        return f"This holds from {small} to {all_rows}, which were measured."
    beyond = " and, as it grows, for more" if ratios[1] >= ratios[0] else "; for more, add --rows"
    return (
        f"This holds from {small}, {times(ratios[0])} times as fast as one COPY, to {all_rows},"
        f" {times(ratios[1])} times{beyond}."
    )


def indexes(facts: Facts, figures: Figures) -> str:
    least, most = facts.indexes
    if not most:
        return "There are no indexes, which load fastest."
    whole, bare = Way(TREE, COPY), Way(BARE, COPY)
    ratio = figures.ratio(bare, whole)
    if ratio is None:
        return ""
    what = "index" if most == 1 else f"{most} indexes" if least == most else "indexes"
    of = f"{what}{' of each leaf' if facts.partitioned else ''}"
    against = f"{short(figures.middle(whole))} with, {short(figures.middle(bare))} without"
    verb = "takes" if most == 1 else "take"
    if ratio > 1 / NOTICED:
        return f"The {of} {verb} no time of a COPY that shows: {against}."
    text = f"Without the {of} a COPY is {times(1 / ratio)} times as fast: {against}."
    if exchange := figures.fastest(TREE, EXCHANGE):
        seconds = short(figures.middle(exchange))
        text += f" --exchange, which builds indexes last, takes {seconds}{over(exchange.jobs)}."
    return text


def writers(figures: Figures) -> str:
    found = sorted(figures.ways(TREE, INSERT), key=lambda way: way.batch)
    if not found:
        reason = figures.reason(TREE, INSERT)
        return f"INSERT was not measured: {reason}." if reason else ""
    best = max(rate(figures, way) for way in found)
    enough = next(way for way in found if rate(figures, way) >= MOST_OF_IT * best)
    steps = ", ".join(f"{way.batch:,}: {digits(rate(figures, way))}" for way in found)
    text = f"INSERT writers, rows a statement and rows/s: {steps}."
    text += f" Send {enough.batch:,} or more" if enough.batch > 1 else " More bring nothing"
    copy = figures.middle(Way(TREE, COPY), "rows_per_second")
    return f"{text}; one COPY: {digits(copy)}." if copy else f"{text}."
