"""The content of a chart before it is drawn: its series of points, with the spread of each."""

from dataclasses import dataclass, replace

from pgsluice_lab.experiment import Case, Chart, Experiment
from pgsluice_lab.report.numerals import plain
from pgsluice_lab.report.results import Measured, Results

# The possible values of the x axis that are not parameters; all but the server are bars.
BARS = ("case", "engine")
SERVER = "server"


@dataclass(frozen=True)
class Series:
    """The points of a case and an engine; `level` if they hold for every x."""

    case: str
    engine: str
    name: str
    points: list[tuple[object, Measured]]
    level: bool = False


@dataclass(frozen=True)
class Drawing:
    """A chart's series; for bars, the x of each is the title of its case or engine.

    `titles` has the titles of the engines by their names.
    """

    chart: Chart
    series: list[Series]
    titles: dict[str, str]

    @property
    def bars(self) -> bool:
        return self.chart.x in BARS

    @property
    def ticks(self) -> list:
        """Return every x, in numerical order, or for bars in the order of the experiment."""
        found = dict.fromkeys(x for each in self.series for x, _ in each.points)
        return list(found) if self.bars else sorted(found)


def drawing(chart: Chart, experiment: Experiment, runs: list[Results]) -> Drawing | None:
    """Return the drawing of these runs, the highest version first; None if it is empty."""
    chosen = chart.cases or [case.name for case in experiment.cases]
    cases = [experiment.case[name] for name in chosen]
    found: list[Series] = []
    for run in shown_runs(chart, runs):
        for case in cases:
            for engine in chart.engines or case.engines:
                found += parts(chart, run, case, engine)
    series = spread_level(joined(titled(chart, found, cases, runs)))
    named = {title: engine for engine, title in titles(runs).items()}
    return Drawing(chart, series, named) if series else None


def shown_runs(chart: Chart, runs: list[Results]) -> list[Results]:
    """Return the runs on the chart's servers; by default on the highest version."""
    if chart.x == SERVER:
        return runs
    wanted = chart.where.get(SERVER)
    return [run for run in runs if wanted in (None, run.major)][:1]


def parts(chart: Chart, run: Results, case: Case, engine: str) -> list[Series]:
    """Return the series of a case and an engine: one for each combination of the other axes."""
    where = {axis: value for axis, value in chart.where.items() if axis != SERVER}
    found: dict[tuple, Series] = {}
    for point in run.points(case.name, engine, where):
        value = run.find(chart.figure, case.name, engine, point)
        if value is None:
            continue
        rest = {axis: at for axis, at in point.items() if axis not in (chart.x, *where)}
        key = tuple(rest.items())
        level = chart.x not in (*point, *BARS, SERVER)
        empty = Series(case.name, engine, described(rest), [], level)
        found.setdefault(key, empty).points.append((x_of(chart, run, point), value))
    several = len(found) > 1
    return [each if several else replace(each, name="") for each in found.values()]


def x_of(chart: Chart, run: Results, point: dict) -> object:
    return run.major if chart.x == SERVER else point.get(chart.x)


def described(rest: dict) -> str:
    values = (plain(at) if isinstance(at, int | float) else str(at) for at in rest.values())
    return ", ".join(f"{axis} {value}" for axis, value in zip(rest, values, strict=True))


def titled(
    chart: Chart, found: list[Series], cases: list[Case], runs: list[Results]
) -> list[Series]:
    """Name each series by its difference from the others, and each bar by its case or engine."""
    case_titles = {case.name: case.title for case in cases}
    engine_titles = titles(runs)
    several_cases = len({each.case for each in found}) > 1 and chart.x != "case"
    several_engines = len({each.engine for each in found}) > 1 and chart.x != "engine"
    cases_of_engines = {(each.engine, each.case) for each in found}
    shared = len(cases_of_engines) > len({engine for engine, _ in cases_of_engines})
    named = []
    for each in found:
        case, engine = case_titles[each.case], engine_titles.get(each.engine, each.engine)
        # Engines of a single case each name their case; a level line says why it is level.
        by_case = several_cases and (each.level or shared)
        words = [case] * by_case + [engine] * several_engines + [each.name] * bool(each.name)
        bar = {"case": case, "engine": engine}.get(chart.x)
        points = [(bar if bar else x, value) for x, value in each.points]
        alone = engine if chart.x == "case" else case
        named.append(replace(each, name=", ".join(words) or alone, points=points))
    return named


def titles(runs: list[Results]) -> dict[str, str]:
    """Return the titles of the engines from the records."""
    about = (item for run in reversed(runs) for item in run.head.engines.items())
    return {name: program.title for name, program in about}


def joined(series: list[Series]) -> list[Series]:
    """Combine series of the same name: each bar or server had its own."""
    found: dict[str, Series] = {}
    for each in series:
        before = found.get(each.name)
        points = [*before.points, *each.points] if before else each.points
        found[each.name] = replace(before or each, points=points)
    return list(found.values())


def spread_level(series: list[Series]) -> list[Series]:
    """Extend values that hold for every x from the smallest to the largest x of the others."""
    xs = [x for each in series if not each.level for x, _ in each.points]
    if not xs:
        return [each for each in series if not each.level]
    ends = sorted({min(xs), max(xs)})
    return [
        replace(each, points=[(x, each.points[0][1]) for x in ends]) if each.level else each
        for each in series
    ]
