"""Recommendations for a table: the fastest of the measured ways."""

from dataclasses import dataclass

from pgsluice_lab.experiment import Advice, Experiment, Figure
from pgsluice_lab.report.numerals import shown, times
from pgsluice_lab.report.results import Measured, Results
from pgsluice_lab.report.verdicts import Filled, evaluate, parameters

# The keys of an option besides the point that it stands for.
WORDS = ("do", "named")
TIMES = ("seconds", "latency_ms")


@dataclass(frozen=True)
class Recommendation:
    """The recommendation for a table `like` this: the thing to `do`, and its figure."""

    like: str
    do: str
    why: str


def recommendations(experiment: Experiment, runs: list[Results]) -> list[Recommendation]:
    """Return the results of the experiment's advice; ways without figures are left out."""
    found = (recommended(advice, runs) for advice in experiment.advice)
    return [each for each in found if each is not None]


def recommended(advice: Advice, runs: list[Results]) -> Recommendation | None:
    """Return the way that is faster than the first one beyond the spread, if any."""
    if not runs:
        return None
    like = Filled().vformat(advice.like, (), parameters(runs[0]))
    first, *others = advice.options
    measured = [(each, speed(advice.figure, each, first, runs)) for each in others]
    known = [(each, ratio) for each, ratio in measured if ratio]
    if not known:
        return None
    best, ratio = max(known, key=lambda pair: pair[1].value)
    if ratio.low > 1:
        return Recommendation(like, best["do"], describe(ratio, first["named"]))
    ratio = speed(advice.figure, first, best, runs)
    if ratio.low > 1:
        return Recommendation(like, first["do"], describe(ratio, best["named"]))
    why = f"no difference to {best['named']} beyond the spread"
    return Recommendation(like, advice.otherwise or first["do"], why)


def speed(figure: str, option: dict, over: dict, runs: list[Results]) -> Measured | None:
    """Return how many times as fast one option is as the other."""
    of, other = (
        {name: value for name, value in each.items() if name not in WORDS}
        for each in ((over, option) if figure in TIMES else (option, over))
    )
    return evaluate(Figure("", of, figure, other), runs)


def describe(ratio: Measured, named: str) -> str:
    low, high = times(ratio.low), times(ratio.high)
    spread = f" ({low} to {high})" if low != high else " (one round)" * ratio.once
    return f"{shown(ratio.value, 'fast')} as {named}{spread}"
