"""The page: one self-contained HTML file, made only from records.

The same records give the same bytes: nothing depends on the day or on chance.
"""

import json
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from pgsluice_lab.experiment import Experiment
from pgsluice_lab.report import tables
from pgsluice_lab.report.charts import plot, slug
from pgsluice_lab.report.palette import DARK, LIGHT, twins, variables
from pgsluice_lab.report.recommendations import Recommendation, recommendations
from pgsluice_lab.report.results import Results
from pgsluice_lab.report.series import Drawing, drawing
from pgsluice_lab.report.verdicts import WORDS, Verdict, sentences, verdicts

HERE = Path(__file__).parent
# A number and its unit, and the words "times" and "of" after one, stay on one line.
UNIT = re.compile(
    r"(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\d) (?=(?:%|s|ms|MiB|GiB|M|k|rows/s|times|GB)\b|%)"
)

# Pages that explain the report, if they are beside it.
DOCUMENTS = ("METHOD.md", "BIAS.md")
TITLE = 18
# This many bars are less than half as high as the text beside them.
COMPACT_BARS = 6
# Without this, a line may end after the hyphens.
OPTION = re.compile(r"(--[a-z][a-z-]*)")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Picture:
    """A chart of the page: the name of its element, its title, and plotly's data."""

    name: str
    title: str
    data: dict

    @property
    def low(self) -> bool:
        """Return whether it leaves room for another chart beside a text."""
        return 0 < self.data["layout"]["meta"]["bars"] <= COMPACT_BARS


@dataclass(frozen=True)
class Part:
    """One experiment of the page: its question, its results, and its server.

    `run` is the run on the highest version, which all text is about; `others` are the rest.
    """

    experiment: Experiment
    run: Results
    others: list[Results]
    sentences: list[str]
    verdicts: list[Verdict]
    recommendations: list[Recommendation]
    pictures: list[Picture]

    @property
    def headlines(self) -> list[Picture]:
        """Return the charts beside the sentences: the first, and another if that is low."""
        first = self.pictures[:1]
        return self.pictures[:2] if first and first[0].low else first

    @property
    def whys(self) -> list[str]:
        """Return the explanations of the verdicts, each text once."""
        return list(dict.fromkeys(each.why for each in self.verdicts if each.why))

    @property
    def figures(self) -> list[str]:
        """Return the figures that the experiment is about, which its charts show."""
        return list(dict.fromkeys(chart.figure for chart in self.experiment.charts)) or ["seconds"]


def html(
    experiments: list[Experiment], found: dict[str, list[Results]], folder: Path | None = None
) -> str:
    """Return the HTML of these experiments' runs; an experiment without runs is marked as such.

    Documents in `folder`, beside the page, are linked.
    """
    parts = [part(each, found[each.name]) for each in experiments if each.name in found]
    template = environment().get_template("page.html")
    return template.render(
        parts=parts,
        not_run=[each for each in experiments if each.name not in found],
        counts=counts([verdict for each in parts for verdict in each.verdicts]),
        looks=WORDS,
        scales={each.run.head.scale for each in parts},
        documents=[name for name in DOCUMENTS if folder and (folder / name).is_file()],
        light=variables(LIGHT),
        dark=variables(DARK),
        twins=twins(),
        style=text("style.css"),
        script=text("charts.js"),
        plotly=text("plotly-basic.min.js"),
        tables=tables,
    )


def part(experiment: Experiment, runs: list[Results]) -> Part:
    pictures = [
        Picture(f"{experiment.name}-{slug(each.chart.title)}", each.chart.title, data(each))
        for each in drawings(experiment, runs)
    ]
    return Part(
        experiment,
        runs[0],
        runs[1:],
        sentences(experiment, runs),
        verdicts(experiment, runs),
        recommendations(experiment, runs),
        pictures,
    )


def drawings(experiment: Experiment, runs: list[Results]) -> list[Drawing]:
    """Return the drawings of the charts that have content."""
    found = (drawing(chart, experiment, runs) for chart in experiment.charts)
    return [each for each in found if each is not None]


def data(each: Drawing) -> dict:
    return json.loads(plot(each).to_json())


def counts(judged: list[Verdict]) -> dict[str, object]:
    """Return the number of claims, and of each verdict that occurs."""
    words = [verdict.word for verdict in judged]
    return {"all": len(words), "words": {w: words.count(w) for w in WORDS if w in words}}


def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    made.filters |= {"readable": tables.text, "mark_up": mark_up, "folded": folded, "day": day}
    made.filters["capital"] = lambda words: words[:1].upper() + words[1:]
    return made


def mark_up(words: str) -> Markup:
    """Return a text with its code marked up, and numbers kept with their units."""
    text = UNIT.sub("&nbsp;", str(escape(words)))
    return Markup(OPTION.sub(r'<span class="option">\1</span>', CODE.sub(r"<code>\1</code>", text)))


def folded(title: str) -> Markup:
    """Return the title of a column in lines as short as its words allow."""
    lines = textwrap.wrap(title, TITLE, break_long_words=False, break_on_hyphens=False)
    return Markup("<br>").join(lines)


def day(date: str) -> str:
    """Return the day of a record's date."""
    return date.split("T")[0]


def text(name: str) -> Markup:
    """Return a file of ours for inclusion in the page."""
    return Markup((HERE / name).read_text(encoding="utf-8"))
