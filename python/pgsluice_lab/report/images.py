"""The charts as separate files, SVG and PNG. Only this needs kaleido and Chromium."""

import re
from pathlib import Path

import plotly.graph_objects as go

from pgsluice_lab.experiment import experiments
from pgsluice_lab.failure import LabError
from pgsluice_lab.report.charts import plot, slug
from pgsluice_lab.report.page import drawings
from pgsluice_lab.report.palette import LIGHT
from pgsluice_lab.report.results import newest
from pgsluice_lab.report.series import Drawing

WIDTH, PLOT, BAR, FOOT = 860, 360, 30, 70
TITLE, ROW, LETTER = 48, 20, 7
# The PNG has this many pixels for each of the SVG's.
SHARPNESS = 2
# plotly gives the parts of a picture random names, so that two pictures on a page do not clash.
CHANCE = re.compile(r"(?:defs|clip|topdefs)-?([0-9a-f]{6})")


def write(records: Path, folder: Path) -> list[Path]:
    """Write every chart of the report as NAME.svg and NAME.png, and return these files."""
    found = newest(records)
    charts = {
        f"{each.name}-{slug(one.chart.title)}": one
        for each in experiments()
        for one in drawings(each, found.get(each.name, []))
    }
    folder.mkdir(parents=True, exist_ok=True)
    figures = [standing_alone(one) for one in charts.values()]
    files = [folder / f"{name}.{kind}" for name in charts for kind in ("svg", "png")]
    render([figure for figure in figures for _ in range(2)], files)
    for name in charts:
        steady(folder / f"{name}.svg", name)
    return files


def standing_alone(drawing: Drawing) -> go.Figure:
    """Return the chart with its title and legend, which the page shows beside it."""
    figure = plot(drawing)
    bars = figure.layout.meta["bars"]
    named = TITLE + ROW * legend_rows(drawing)
    head = named + (8 if bars else ROW + 8)
    height = head + (BAR * bars + FOOT if bars else PLOT)
    figure.update_layout(
        width=WIDTH,
        height=height,
        margin={"l": 24, "r": 32, "t": head, "b": 24},
        title={
            "text": drawing.chart.title,
            "font": {"size": 16, "color": LIGHT["text"]},
            "x": 24 / WIDTH,
            "xanchor": "left",
            "yref": "container",
            "y": 1 - 16 / height,
            "yanchor": "top",
        },
        legend={
            "xref": "container",
            "x": 16 / WIDTH,
            "yref": "container",
            "y": 1 - TITLE / height,
            "yanchor": "top",
        },
    )
    return figure


def legend_rows(drawing: Drawing) -> int:
    """Return the rows of the legend: plotly makes columns as wide as the widest name."""
    names = [each.name for each in drawing.series]
    if len(names) == 1:
        return 0
    columns = max(1, (WIDTH - 56) // (48 + LETTER * max(map(len, names))))
    return -(-len(names) // columns)


def render(figures: list[go.Figure], files: list[Path]) -> None:
    """Draw the figures into these files with Chromium."""
    try:
        import kaleido
    except ImportError:
        hint = "Install it by: pip install kaleido"
        raise LabError("charts as files need kaleido", hint=hint) from None
    jobs = [
        {
            "fig": figure,
            "path": file,
            "opts": {"format": file.suffix[1:], "scale": SHARPNESS if file.suffix == ".png" else 1},
        }
        for figure, file in zip(figures, files, strict=True)
    ]
    try:
        kaleido.write_fig_from_object_sync(jobs)
    except Exception as error:
        hint = "It needs Chromium or Chrome; BROWSER_PATH says where it is."
        raise LabError("kaleido could not draw the charts", str(error), hint) from error


def steady(file: Path, name: str) -> None:
    """Name the parts of an SVG after the chart, so that the same chart gives the same file."""
    text = file.read_text(encoding="utf-8")
    for chance in set(CHANCE.findall(text)):
        text = text.replace(chance, name)
    file.write_text(text, encoding="utf-8")
