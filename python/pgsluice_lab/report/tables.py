"""Tables of a run: its main figure with a column for each engine, all figures, and failures."""

from collections import Counter
from dataclasses import dataclass, replace

from pgsluice_lab.experiment import Case, Experiment
from pgsluice_lab.record import Load
from pgsluice_lab.report.numerals import FIGURES, plain, shown, spec_of, title_of
from pgsluice_lab.report.results import Measured, Results, identity


@dataclass(frozen=True)
class Cell:
    """A median and the ends of its spread; both empty if nothing was measured."""

    value: str = ""
    spread: str = ""


@dataclass(frozen=True)
class Table:
    """Column titles, of which the first `words` describe a row; and the rows by case.

    If only their case describes the rows, it is their first cell instead.
    """

    titles: list[str]
    words: int
    groups: list[tuple[str, list[list[Cell]]]]

    @property
    def size(self) -> int:
        return sum(len(rows) for _, rows in self.groups)

    def right(self, column: int) -> bool:
        """Return whether a column contains numbers, which are aligned to the right."""
        cells = (row[column].value for _, rows in self.groups for row in rows)
        return column >= self.words or all(cell[:1].isdigit() for cell in cells if cell)


def comparisons(experiment: Experiment, run: Results, figure: str) -> list[Table]:
    """Return one figure, with a row for each point and a column for each engine that has it.

    Cases without a common engine cannot be compared, and get separate tables.
    """
    having = replace(run, loads=[load for load in run.done if load.figure(figure) is not None])
    together: list[tuple[set[str], list[Case]]] = []
    for case in experiment.cases:
        engines = {load.engine for load in having.loads if load.case == case.name}
        if not engines:
            continue
        for shared, cases in together:
            if shared & engines:
                shared |= engines
                cases.append(case)
                break
        else:
            together.append((engines, [case]))
    return [
        comparison(having, figure, cases, [each for each in experiment.engines if each in engines])
        for engines, cases in together
    ]


def comparison(run: Results, figure: str, cases: list[Case], engines: list[str]) -> Table:
    """Return one figure of these cases, with a column for each of these engines."""
    named = {case.name for case in cases}
    axes = axes_of(replace(run, loads=[load for load in run.loads if load.case in named]))
    groups = []
    for case in cases:
        rows = []
        for point in points(run, case.name):
            values = [run.find(figure, case.name, engine, point) for engine in engines]
            rows.append([*at(point, axes), *(cell(each, figure) for each in values)])
        groups.append((case.title, rows))
    return table([*axes, *(title_of_engine(run, each) for each in engines)], len(axes), groups)


def everything(experiment: Experiment, run: Results) -> Table:
    """Return all figures, with a row for each point and engine."""
    figures = figures_of(run)
    axes = axes_of(run)
    groups = []
    for case in experiment.cases:
        rows = []
        for point in points(run, case.name):
            for engine in measured_engines(experiment, run):
                values = [run.find(each, case.name, engine, point) for each in figures]
                if any(values):
                    cells = [cell(v, each) for v, each in zip(values, figures, strict=True)]
                    rows.append([*at(point, axes), Cell(title_of_engine(run, engine)), *cells])
        groups.append((case.title, rows))
    titles = [*axes, "engine", *(title_of(each) for each in figures)]
    return table(titles, len(axes) + 1, groups)


def table(titles: list[str], words: int, groups: list[tuple[str, list[list[Cell]]]]) -> Table:
    """Return a table of the groups that have rows."""
    groups = [(title, rows) for title, rows in groups if rows]
    if words:
        return Table(titles, words, groups)
    rows = [[Cell(title), *row] for title, rows in groups for row in rows]
    return Table(["", *titles], 1, [("", rows)])


def measured_engines(experiment: Experiment, run: Results) -> list[str]:
    used = {load.engine for load in run.done}
    return [engine for engine in experiment.engines if engine in used]


def axes_of(run: Results) -> list[str]:
    """Return the axes of all points, in the order of the scale's parameters."""
    used = {axis for load in run.done for axis in load.point}
    return [name for name in run.head.parameters if name in used]


def points(run: Results, case: str) -> list[dict]:
    """Return the points of a case for which an engine has figures."""
    found = {identity(load)[2]: load.point for load in run.done if load.case == case}
    return sorted(found.values(), key=run.place)


def at(point: dict, axes: list[str]) -> list[Cell]:
    return [Cell(text(point[axis])) if axis in point else Cell() for axis in axes]


def text(value: object) -> str:
    return plain(value) if isinstance(value, int | float) else str(value)


def cell(measured: Measured | None, figure: str) -> Cell:
    if measured is None:
        return Cell()
    low, middle, high = (
        shown(value, spec_of(figure)) for value in (measured.low, measured.value, measured.high)
    )
    return Cell(middle, f"{without_unit(low)} to {without_unit(high)}" if low != high else "")


def without_unit(number: str) -> str:
    return number.split(" ")[0]


def figures_of(run: Results) -> list[str]:
    """Return the figures that some load has, the known ones first and in their order."""
    own = dict.fromkeys(name for load in run.done for name in load.figures)
    names = dict.fromkeys([*FIGURES, *own])
    return [each for each in names if any(load.figure(each) for load in run.done)]


def title_of_engine(run: Results, engine: str) -> str:
    about = run.head.engines.get(engine)
    return about.title if about else engine


def not_done(experiment: Experiment, run: Results) -> list[str]:
    """Return the loads that were stopped, failed or wrong, and not done later."""
    later_done = {(identity(load), load.round) for load in run.done}
    counted = Counter(
        (described(experiment, run, load), load.status, load.reason)
        for load in run.loads
        if not load.done and (identity(load), load.round) not in later_done
    )
    return [
        f"{what}: {status}{f', {reason}' if reason else ''}"
        + (f" (in {count} rounds)" if count > 1 else "")
        for (what, status, reason), count in counted.items()
    ]


def described(experiment: Experiment, run: Results, load: Load) -> str:
    known = experiment.case.get(load.case)
    words = [known.title if known else load.case]
    words += [f"{axis} {text(value)}" for axis, value in load.point.items()]
    return ", ".join([*words, title_of_engine(run, load.engine)])


def missing(run: Results) -> list[str]:
    """Return the engines that were missing, with the reason."""
    about = run.head.engines.values()
    return [f"{each.title}: {each.missing}" for each in about if each.missing]


def commands(experiment: Experiment, run: Results) -> list[tuple[str, str]]:
    """Return a command of each engine, from its last point, which is usually the largest."""
    last = {load.engine: load for load in run.done if load.command}
    return [
        (title_of_engine(run, engine), last[engine].command)
        for engine in experiment.engines
        if engine in last
    ]
