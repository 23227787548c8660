"""Experiments as data: `experiments/<name>/experiment.toml`, read and checked."""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pgsluice_lab import engine
from pgsluice_lab.arithmetic import evaluate
from pgsluice_lab.failure import LabError
from pgsluice_lab.typed import Kind, build

FOLDER = Path(__file__).parent / "experiments"
SCALES = ("small", "medium", "full")
Point = dict[str, object]


@dataclass(frozen=True)
class Scale:
    """The size of an experiment: rounds, the limit of a load in seconds, and its parameters.

    `minutes` is the approximate time on two quiet cores.
    """

    name: str
    rounds: int
    limit: float
    parameters: dict[str, object]
    minutes: float = 0

    def values(self, name: str) -> list:
        """Return the values of a parameter; a single value is a list of one."""
        given = self.parameters[name]
        return given if isinstance(given, list) else [given]

    @property
    def lists(self) -> dict[str, list]:
        return {name: self.values(name) for name in self.parameters}

    @property
    def scalars(self) -> dict[str, object]:
        given = self.parameters.items()
        return {name: value for name, value in given if not isinstance(value, list)}


@dataclass(frozen=True)
class Case:
    """A table, its input, and its engines; a point for each combination of its axes.

    Before each load the table is emptied; it may be `fresh`, in a schema that is created again, or
    `keep` the rows of earlier loads. `before` adds rows other than the input's, and `prepare` any
    rows: then only `counts` defines the right result. Slow engines may load `once`, in the first
    round only. `order` sorts the files of leaves, and `checks` are required figures of an engine.
    """

    name: str
    title: str
    schema: str
    table: str
    engines: list[str]
    axes: list[str] = field(default_factory=list)
    only: list[str] = field(default_factory=list)
    once: list[str] = field(default_factory=list)
    input: str = ""
    prepare: str = ""
    before: str = ""
    keep: bool = False
    fresh: bool = False
    vacuum: bool = False
    checkpoint: bool = False
    order: str = ""
    checks: dict[str, str] = field(default_factory=dict)
    counts: str = "rows"
    bytes: str = ""
    variables: dict[str, object] = field(default_factory=dict)

    def points(self, scale: Scale) -> Iterator[Point]:
        """Yield the points of this case, each with the values of its axes."""
        for values in itertools.product(*(scale.values(axis) for axis in self.axes)):
            point = dict(zip(self.axes, values, strict=True))
            names = {**scale.scalars, **point}
            if all(evaluate(each, names, scale.lists) for each in self.only):
                yield point

    def parameters(self, scale: Scale, point: Point) -> dict[str, object]:
        """Return all parameters of a point: the scale's and its own."""
        return {**scale.scalars, **point}

    def expected(self, scale: Scale, point: Point) -> int | None:
        """Return the number of rows that the table must have after a load; None if unknown."""
        names = {**self.parameters(scale, point), **self.numbers}
        return int(evaluate(self.counts, names, scale.lists)) if self.counts else None

    def size(self, scale: Scale, point: Point) -> int:
        """Return the approximate bytes of the input, or of a script's rows, if known."""
        names = {**self.parameters(scale, point), **self.numbers}
        formula = self.bytes or ("rows * 100" if self.input else "0")
        return int(evaluate(formula, names, scale.lists))

    @property
    def numbers(self) -> dict[str, int]:
        return {name: each for name, each in self.variables.items() if isinstance(each, int)}


@dataclass(frozen=True)
class Chart:
    title: str
    x: str
    figure: str = "seconds"
    where: dict[str, object] = field(default_factory=dict)
    cases: list[str] = field(default_factory=list)
    engines: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    axis: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A named number: a figure of one point and engine, or its ratio to another's."""

    name: str
    of: dict[str, object]
    figure: str = "seconds"
    over: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A claim of a publication, its value, and the interval in which a value here agrees with it.

    An interval above one claims that the first of the two is ahead, and an interval below one that
    the second is.
    """

    says: str
    figure: str
    published: str
    holds: list[float]
    shown: str = "fast"
    if_not: str = ""


@dataclass(frozen=True)
class Sentence:
    text: str


@dataclass(frozen=True)
class Advice:
    """Ways to treat a table like this, each the point of an engine; the first is the usual one.

    `otherwise` is the recommendation if no way is faster, if that is not the first.
    """

    like: str
    options: list[dict[str, object]]
    figure: str = "seconds"
    otherwise: str = ""


@dataclass(frozen=True)
class Experiment:
    name: str
    folder: Path
    title: str
    question: str
    order: int
    scales: dict[str, Scale]
    cases: list[Case]
    seed: str = ""
    url: str = ""
    note: str = ""
    charts: list[Chart] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    shelf: Path = engine.FILE  # of its engines

    @cached_property
    def case(self) -> dict[str, Case]:
        return {case.name: case for case in self.cases}

    @property
    def engines(self) -> list[str]:
        """Return the names of all engines, in the order of their first mention in cases."""
        return list(dict.fromkeys(name for case in self.cases for name in case.engines))


def experiments() -> list[Experiment]:
    """Return all experiments, in their order."""
    found = [load(file.parent.name) for file in FOLDER.glob("*/experiment.toml")]
    return sorted(found, key=lambda each: each.order)


def load(name: str, folder: Path | None = None, shelf: Path = engine.FILE) -> Experiment:
    """Return the experiment of this name, ours or from another folder."""
    folder = folder or FOLDER
    file = folder / name / "experiment.toml"
    if not file.is_file():
        known = ", ".join(sorted(each.parent.name for each in folder.glob("*/experiment.toml")))
        raise LabError(f"there is no experiment {name!r}", hint=f"There are: {known}.")
    return replace(parse(file.parent, tomllib.loads(file.read_text())), shelf=shelf)


def parse(folder: Path, data: dict) -> Experiment:
    """Return the experiment that this TOML, in a folder of the experiment's name, describes."""
    scales = {each: scale(each, values) for each, values in data.pop("scale").items()}
    cases = parts(Case, data.pop("case"))
    # `as` is the key in TOML, but a keyword in Python.
    claims = [
        {"shown" if key == "as" else key: text for key, text in each.items()}
        for each in data.pop("claim", [])
    ]
    lists = {
        "charts": parts(Chart, data.pop("chart", [])),
        "figures": parts(Figure, data.pop("figure", [])),
        "claims": parts(Claim, claims),
        "sentences": parts(Sentence, data.pop("sentence", [])),
        "advice": parts(Advice, data.pop("advice", [])),
    }
    own = {"name": folder.name, "folder": folder, "scales": scales, "cases": cases}
    return build(Experiment, {**data, **own, **lists}, "an experiment")


def parts(kind: type[Kind], data: list[dict]) -> list[Kind]:
    """Return the parts of an experiment of one kind."""
    return [build(kind, each, f"an experiment's {kind.__name__.lower()}") for each in data]


def scale(name: str, values: dict) -> Scale:
    rest = dict(values)
    rounds, limit = rest.pop("rounds"), rest.pop("limit")
    minutes = rest.pop("minutes", 0)
    return Scale(name, rounds, limit, {"jobs": 1, **rest}, minutes)
