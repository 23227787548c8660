"""What the figures say: named figures of an experiment, claims judged, sentences filled."""

import string
from dataclasses import dataclass

from pgsluice_lab.experiment import Claim, Experiment, Figure
from pgsluice_lab.report.numerals import plain, shown
from pgsluice_lab.report.results import EXTREMES, Measured, Results

WHO = ("case", "engine", "server")
WORDS = {True: "holds", False: "does not hold", None: "not measured"}


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured here, and whether it holds; None if it was not measured."""

    claim: Claim
    measured: Measured | None
    holds: bool | None

    @property
    def shown(self) -> str:
        return as_claimed(self.measured.value, self.claim) if self.measured else ""

    @property
    def spread(self) -> str:
        """Return the smallest and the largest of the rounds; empty where they read the same."""
        if self.measured is None:
            return ""
        low, high = (as_claimed(end, self.claim) for end in (self.measured.low, self.measured.high))
        return f"{low.removesuffix(' times')} to {high}" if low != high else ""

    @property
    def word(self) -> str:
        return WORDS[self.holds]

    @property
    def divided(self) -> str:
        """Return how many rounds agree with the verdict, if not all of them do."""
        if self.measured is None:
            return ""
        low, high = self.claim.holds
        rounds = self.measured.rounds
        agree = sum((low <= value <= high) == self.holds for value in rounds)
        return f"in {agree} of {len(rounds)} rounds" if agree < len(rounds) else ""


def as_claimed(value: float, claim: Claim) -> str:
    text = shown(value, claim.shown)
    return f"{text} times" if claim.shown == "times" else text


def figures(experiment: Experiment, runs: list[Results]) -> dict[str, Measured]:
    """Return the experiment's named figures, those that were measured."""
    found = ((figure.name, evaluate(figure, runs)) for figure in experiment.figures)
    return {name: value for name, value in found if value is not None}


def evaluate(figure: Figure, runs: list[Results]) -> Measured | None:
    """Return a figure; a ratio is taken in each round by itself, then the median of the ratios."""
    of = selected(figure.figure, figure.of, runs)
    if figure.over and of:
        over = selected(figure.figure, figure.over, runs)
        of = {number: of[number] / over[number] for number in of if over.get(number)}
    return Measured(tuple(of.values())) if of else None


def selected(figure: str, who: dict, runs: list[Results]) -> dict[int, float]:
    """Return a figure in each round of the one point that is meant; none if it is not measured."""
    run = server(who.get("server"), runs)
    if run is None:
        return {}
    where = {axis: value for axis, value in who.items() if axis not in WHO}
    points = run.points(who["case"], who["engine"], where)
    if len(points) > 1:
        raise ValueError(f"{who} is not one point but {len(points)}: {points}")
    return run.by_round(figure, who["case"], who["engine"], points[0]) if points else {}


def server(major: int | None, runs: list[Results]) -> Results | None:
    """Return the run on that major version, by default on the highest one measured."""
    return next((run for run in runs if major in (None, run.major)), None)


def verdicts(experiment: Experiment, runs: list[Results]) -> list[Verdict]:
    """Judge the experiment's claims by what was measured."""
    known = figures(experiment, runs)
    return [verdict(claim, known.get(claim.figure)) for claim in experiment.claims]


def verdict(claim: Claim, figure: Measured | None) -> Verdict:
    low, high = claim.holds
    return Verdict(claim, figure, low <= figure.value <= high if figure else None)


def sentences(experiment: Experiment, runs: list[Results]) -> list[str]:
    """Return the experiment's sentences; one with a figure that was not measured is left out."""
    values = {**(parameters(runs[0]) if runs else {}), **figures(experiment, runs)}
    filled = Filled()
    found = []
    for sentence in experiment.sentences:
        names = {name for _, name, _, _ in string.Formatter().parse(sentence.text) if name}
        if names <= values.keys():
            found.append(filled.vformat(sentence.text, (), values))
    return found


def parameters(run: Results) -> dict[str, object]:
    """Return the run's parameters; one that is a list stands for its largest value."""
    given = run.head.parameters
    return {
        name: EXTREMES["max"](value) if isinstance(value, list) else value
        for name, value in given.items()
    }


class Filled(string.Formatter):
    """Fills a sentence with figures and parameters, each shown in the way that stands behind it."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, Measured):
            return shown(value.value, format_spec or "plain")
        if isinstance(value, str):
            return value
        return shown(value, format_spec) if format_spec else plain(value)
