"""The meaning of the figures: named figures of an experiment, judged claims, and sentences."""

import string
from dataclasses import dataclass

from pgsluice_lab.experiment import Claim, Experiment, Figure
from pgsluice_lab.report.numerals import plain, shown
from pgsluice_lab.report.results import EXTREMES, Measured, Results

WHO = ("case", "engine", "server")
# Ratios, in contrast to figures with a unit, say which of two things is ahead.
RATIOS = {"fast": " times as fast", "large": " times as large"}

HOLDS, MORE, LESS = "holds", "holds, and more so", "holds, but less so"
SIZE = "holds, by how much cannot be told"
UNTOLD, ONCE = "cannot be told: within the spread", "cannot be told: one round"
NOT, ABSENT = "does not hold", "not measured"
# The page's style for each.
WORDS = {
    HOLDS: "good",
    MORE: "good",
    LESS: "weak",
    SIZE: "weak",
    UNTOLD: "open",
    ONCE: "open",
    NOT: "bad",
    ABSENT: "open",
}
# A claim's interval begins at half of the published effect, so a fifth of that is a tenth of the
# effect, which is no effect.
A_TENTH = 1 / 5


@dataclass(frozen=True)
class Verdict:
    """A claim, its measured figure, and the words for its verdict."""

    claim: Claim
    measured: Measured | None
    word: str

    @property
    def shown(self) -> str:
        return shown(self.measured.value, self.claim.shown) if self.measured else ""

    @property
    def spread(self) -> str:
        """Return the smallest and the largest of the rounds; empty if they look the same."""
        if self.measured is None:
            return ""
        low, high = (
            shown(end, self.claim.shown).removesuffix(RATIOS.get(self.claim.shown, ""))
            for end in (self.measured.low, self.measured.high)
        )
        return f"{low} to {high}" if low != high else ""

    @property
    def look(self) -> str:
        """Return the page's style for the word."""
        return WORDS[self.word]

    @property
    def why(self) -> str:
        """Return the explanation of the verdict, if it needs one."""
        return "" if self.word in (HOLDS, ABSENT) else self.claim.if_not


def figures(experiment: Experiment, runs: list[Results]) -> dict[str, Measured]:
    """Return the experiment's named figures that were measured."""
    found = ((figure.name, evaluate(figure, runs)) for figure in experiment.figures)
    return {name: value for name, value in found if value is not None}


def evaluate(figure: Figure, runs: list[Results]) -> Measured | None:
    """Return a figure; a ratio is the median of the ratios in each round."""
    of = selected(figure.figure, figure.of, runs)
    if figure.over and of:
        over = selected(figure.figure, figure.over, runs)
        of = {number: of[number] / over[number] for number in of if over.get(number)}
    return Measured(tuple(of.values())) if of else None


def selected(figure: str, who: dict, runs: list[Results]) -> dict[int, float]:
    """Return a figure of one point in each round; empty if it was not measured."""
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
    """Judge the experiment's claims by the measured figures."""
    known = figures(experiment, runs)
    return [verdict(claim, known.get(claim.figure)) for claim in experiment.claims]


def verdict(claim: Claim, figure: Measured | None) -> Verdict:
    return Verdict(claim, figure, word(claim, figure))


def word(claim: Claim, measured: Measured | None) -> str:
    """Return the words for a claim's verdict, which the whole spread of the rounds must support."""
    if measured is None:
        return ABSENT
    if measured.once:
        return ONCE
    low, high = claim.holds
    if claim.shown in RATIOS and low >= 1:
        return effect(measured.low, measured.value, measured.high, low, high)
    if claim.shown in RATIOS and high <= 1:
        ends = (1 / each if each else float("inf") for each in (high, low))
        return effect(1 / measured.high, 1 / measured.value, 1 / measured.low, *ends)
    inside = low <= measured.low and measured.high <= high
    outside = measured.high < low or measured.low > high
    return HOLDS if inside else NOT if outside else UNTOLD


def effect(weakest: float, middle: float, strongest: float, least: float, most: float) -> str:
    """Judge the direction first, then the size, of a ratio that is claimed to be above one.

    A size from `least` to `most` agrees with the publication.
    """
    if strongest <= 1:
        return NOT
    if weakest <= 1:
        return UNTOLD
    if strongest < least**A_TENTH:
        return NOT
    if middle < least**A_TENTH:
        return UNTOLD
    if least <= middle <= most:
        return HOLDS
    return MORE if weakest > most else LESS if strongest < least else SIZE


def sentences(experiment: Experiment, runs: list[Results]) -> list[str]:
    """Return the experiment's sentences, except those with a figure that was not measured."""
    values = {**(parameters(runs[0]) if runs else {}), **figures(experiment, runs)}
    filled = Filled()
    found = []
    for sentence in experiment.sentences:
        names = {name for _, name, _, _ in string.Formatter().parse(sentence.text) if name}
        if names <= values.keys():
            found.append(filled.vformat(sentence.text, (), values))
    return found


def parameters(run: Results) -> dict[str, object]:
    """Return the run's parameters; a list stands for its largest value."""
    given = run.head.parameters
    return {
        name: EXTREMES["max"](value) if isinstance(value, list) else value
        for name, value in given.items()
    }


class Filled(string.Formatter):
    """Fills a sentence with figures and parameters, each in the format that follows its name."""

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, Measured):
            if format_spec == "fast" and value.undecided:
                return "as fast, within the spread,"
            text = shown(value.value, format_spec or "plain")
            return f"in one round {text}" if format_spec == "fast" and value.once else text
        if isinstance(value, str):
            return value
        return shown(value, format_spec) if format_spec else plain(value)
