"""Drawings as plotly figures, in the light colours; the page's script sets their size.

An engine has one colour in all charts, and a case one dash and mark, so that both are recognizable
at a glance.
"""

import math
import re
import textwrap
from collections.abc import Callable

import plotly.graph_objects as go

from pgsluice_lab.experiment import Chart
from pgsluice_lab.report.numerals import MIB, plain, shown, spec_of, title_of
from pgsluice_lab.report.palette import LIGHT, engine_colour
from pgsluice_lab.report.results import Measured
from pgsluice_lab.report.series import Drawing, Series

DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
MARKS = ["circle", "square", "diamond", "triangle-up", "cross", "x"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LABEL = 24
# More values on an axis would overlap.
TICKS = 8
# The part of the axis that a number needs.
ROOM = 0.1
# The value from which an axis counts in thousands.
LARGE = 10_000


def plot(drawing: Drawing) -> go.Figure:
    """Return the figure of a drawing."""
    styles = Styles(drawing)
    trace = bar if drawing.bars else line
    traces = [trace(each, drawing, styles) for each in drawing.series]
    for number, each in enumerate(traces):
        each.uid = f"series-{number}"  # otherwise plotly chooses a random name
    return go.Figure(traces, layout(drawing))


class Styles:
    """The dash and mark of a series: its case's, or its own if cases have several series."""

    def __init__(self, drawing: Drawing) -> None:
        series = drawing.series
        shared = len({(each.case, each.engine) for each in series}) < len(series)
        # A level line is dotted, whatever its case.
        lines = list(dict.fromkeys(each.case for each in series if not each.level))
        places = [lines.index(each.case) if each.case in lines else 0 for each in series]
        self.dashes = {
            each.name: number if shared else place
            for number, (each, place) in enumerate(zip(series, places, strict=True))
        }
        variants = variants_of([each.engine for each in series])
        self.marks = {each.name: self.dashes[each.name] + variants[each.engine] for each in series}

    def dash(self, series: Series) -> str:
        return DASHES[self.dashes[series.name] % len(DASHES)]

    def mark(self, series: Series) -> str:
        return MARKS[self.marks[series.name] % len(MARKS)]


def variants_of(engines: list[str]) -> dict[str, int]:
    """Return the index of each engine within its program; shades of a colour are too similar."""
    seen: dict[str, dict[str, int]] = {}
    for each in engines:
        known = seen.setdefault(each.split("-")[0], {})
        known.setdefault(each, len(known))
    return {engine: number for known in seen.values() for engine, number in known.items()}


def line(series: Series, drawing: Drawing, styles: Styles) -> go.Scatter:
    colour = engine_colour(series.engine)
    values = [value for _, value in series.points]
    return go.Scatter(
        name=series.name,
        x=[x for x, _ in series.points],
        y=[scaled(value.value, drawing) for value in values],
        mode="lines" if series.level else "lines+markers",
        line={"color": colour, "width": 2, "dash": "dot" if series.level else styles.dash(series)},
        marker={"color": colour, "size": 8, "symbol": styles.mark(series)},
        error_y=None if series.level else spread(values, drawing, colour),
        text=[hover(value, drawing) for value in values],
        hovertemplate="%{text}<extra>" + series.name + "</extra>",
    )


def bar(series: Series, drawing: Drawing, _: Styles) -> go.Bar:
    values = [value for _, value in series.points]
    spec = spec_of(drawing.chart.figure)
    return go.Bar(
        name=series.name,
        orientation="h",
        y=[wrapped(str(x)) for x, _ in series.points],
        x=[scaled(value.value, drawing) for value in values],
        marker={"color": bar_colours(series, drawing)},
        text=[shown(value.value, spec) for value in values],
        textposition="outside",
        cliponaxis=False,
        customdata=[hover(value, drawing) for value in values],
        hovertemplate="%{customdata}<extra>" + series.name + "</extra>",
    )


def bar_colours(series: Series, drawing: Drawing) -> list[str]:
    """Return the colour of each bar: its engine's, which the bars may compare."""
    if drawing.chart.x != "engine":
        return [engine_colour(series.engine)] * len(series.points)
    return [engine_colour(drawing.titles.get(str(x), "")) for x, _ in series.points]


def spread(values: list[Measured], drawing: Drawing, colour: str) -> dict:
    return {
        "type": "data",
        "symmetric": False,
        "array": [scaled(value.high - value.value, drawing) for value in values],
        "arrayminus": [scaled(value.value - value.low, drawing) for value in values],
        "color": colour,
        "thickness": 1,
        "width": 3,
    }


def scaled(value: float, drawing: Drawing) -> float:
    """Return a figure in the unit of its axis, with only the digits that matter."""
    in_mib = spec_of(drawing.chart.figure) == "mib"
    return float(f"{value / MIB if in_mib else value:.5g}")


def hover(value: Measured, drawing: Drawing) -> str:
    spec = spec_of(drawing.chart.figure)
    ends = [shown(end, spec) for end in (value.low, value.high)]
    middle = shown(value.value, spec)
    return f"{middle} ({ends[0]} to {ends[1]})" if ends[0] != ends[1] else middle


def wrapped(label: str) -> str:
    return "<br>".join(textwrap.wrap(label, LABEL))


def layout(drawing: Drawing) -> go.Layout:
    """Return the axes and their surroundings."""
    chart = drawing.chart
    measured_axis = value_axis(drawing)
    given_axis = category_axis(drawing) if drawing.bars else number_axis(drawing)
    x, y = (measured_axis, given_axis) if drawing.bars else (given_axis, measured_axis)
    return go.Layout(
        template=go.layout.Template(),
        paper_bgcolor=LIGHT["paper"],
        plot_bgcolor=LIGHT["paper"],
        font={"family": FONT, "size": 13, "color": LIGHT["text"]},
        hoverlabel={"font": {"family": FONT}, "align": "left", "namelength": -1},
        hovermode="closest",
        margin={"l": 8, "r": 16, "t": 28 if not drawing.bars else 8, "b": 8},
        xaxis=x,
        yaxis=y,
        showlegend=len(drawing.series) > 1,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.06, "x": 0, "xanchor": "left"},
        barmode="group",
        bargap=0.3,
        annotations=[] if drawing.bars else [above(figure_label(chart))],
        meta={"bars": sum(len(each.points) for each in drawing.series) if drawing.bars else 0},
    )


def lines(**more: object) -> dict:
    """Return the common properties of all axes."""
    quiet = {"color": LIGHT["quiet"]}
    grid = {"gridcolor": LIGHT["line"], "linecolor": LIGHT["line"], "zeroline": False}
    return {**grid, "automargin": True, "tickfont": quiet, **more}


def value_axis(drawing: Drawing) -> dict:
    """Return the axis of the figure, horizontal for bars; a logarithmic one has no zero."""
    across = {"title": titled(figure_label(drawing.chart))} if drawing.bars else {}
    if "y" in drawing.chart.log:
        return lines(type="log", tickformat=",~r", dtick=steps(drawing), **across)
    top = max(scaled(value.high, drawing) for each in drawing.series for _, value in each.points)
    reach = {"range": [0, top * 1.08]} if drawing.bars else {"rangemode": "tozero"}
    return lines(tickformat="~s" if top >= LARGE else ",~r", nticks=6, **reach, **across)


def steps(drawing: Drawing) -> int | str:
    """Return plotly's value for a logarithmic axis's ticks: the fewer powers, the more ticks."""
    values = [value.value for each in drawing.series for _, value in each.points]
    positive = [value for value in values if value > 0] or [1]
    spanned = max(positive) / min(positive)
    return 1 if spanned >= 100 else "D2" if spanned >= 5 else "D1"


def titled(text: str) -> dict:
    return {"text": text, "font": {"size": 13, "color": LIGHT["quiet"]}, "standoff": 8}


def number_axis(drawing: Drawing) -> dict:
    """Return the x axis of lines, with a tick for each point."""
    chart, ticks = drawing.chart, drawing.ticks
    named = {"title": titled(chart.axis.get("x", chart.x))}
    if any(isinstance(x, str) for x in ticks):
        return lines(type="category", **named)
    # Zero is a possible number of partitions, but has no place on a logarithmic axis.
    kind = "log" if "x" in chart.log and min(ticks) > 0 else "linear"
    if len(ticks) <= TICKS or kind == "log":
        told = apart(ticks, math.log if kind == "log" else float)
        named |= {"tickvals": ticks, "ticktext": [tick(x) if x in told else "" for x in ticks]}
        named |= {"tickangle": 0}
    return lines(type=kind, **named)


def apart(ticks: list[float], place: Callable[[float], float]) -> set[float]:
    """Return the ticks whose numbers fit even on a phone; powers of ten come first."""
    width = place(ticks[-1]) - place(ticks[0])
    told: set[float] = set()
    for tick in sorted(ticks, key=lambda tick: (not power_of_ten(tick), tick)):
        if all(abs(place(tick) - place(other)) >= ROOM * width for other in told):
            told.add(tick)
    return told


def power_of_ten(tick: float) -> bool:
    return tick > 0 and math.log10(tick).is_integer()


def category_axis(drawing: Drawing) -> dict:
    return lines(
        type="category",
        categoryorder="array",
        categoryarray=[wrapped(str(x)) for x in drawing.ticks],
        autorange="reversed",
        showgrid=False,
        ticks="outside",
        ticklen=6,
        tickcolor=LIGHT["paper"],
    )


def tick(x: object) -> str:
    """Return a number on the x axis, large ones in thousands or millions."""
    if not isinstance(x, int | float):
        return str(x)
    if x >= 1_000_000:
        return f"{x / 1_000_000:g}M"
    return f"{x / 1000:g}k" if x >= LARGE else plain(x)


def figure_label(chart: Chart) -> str:
    """Return the title of the figure's axis: from the experiment, else with its unit."""
    unit = {"mib": "MiB", "ms": "ms", "s": "seconds"}.get(spec_of(chart.figure), "")
    title = title_of(chart.figure)
    return chart.axis.get("y", f"{title}, {unit}" if unit else title)


def above(text: str) -> dict:
    """Return the name of the y axis above it, where it takes no width."""
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1}
    anchor = {"xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {**place, **anchor, "text": text, "font": {"color": LIGHT["quiet"]}}


def slug(text: str) -> str:
    """Return a title as the name of a file or of an element."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].rstrip("-")
