"""The page: one HTML file with all that it needs in it, made of records only.

The same records give the same bytes: nothing in it depends on the day or on chance.
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
# A number and its unit, and the words "times" and "of" behind one, stay on one line.
UNIT = re.compile(
    r"(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\d) (?=(?:%|s|ms|MiB|GiB|M|k|rows/s|times|GB)\b|%)"
)

# What explains the page, where it lies beside it.
DOCUMENTS = ("METHOD.md", "BIAS.md")
TITLE = 18
# So few bars are not half as high as the text beside them.
FEW = 6
# Else a line may end behind the hyphens.
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
        """Return whether it leaves room for another one beside a text."""
        return 0 < self.data["layout"]["meta"]["bars"] <= FEW


@dataclass(frozen=True)
class Part:
    """One experiment of the page: what was asked, what came out, and on which server.

    `run` is that on the highest version, which all words are about; `others` are the rest.
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
        """Return the charts beside the sentences: the first, and if that is low another."""
        first = self.pictures[:1]
        return self.pictures[:2] if first and first[0].low else first

    @property
    def whys(self) -> list[str]:
        """Return what explains the verdicts, each text once."""
        return list(dict.fromkeys(each.why for each in self.verdicts if each.why))

    @property
    def figures(self) -> list[str]:
        """Return the figures that the experiment is about: those of its charts."""
        return list(dict.fromkeys(chart.figure for chart in self.experiment.charts)) or ["seconds"]


def html(
    experiments: list[Experiment], found: dict[str, list[Results]], folder: Path | None = None
) -> str:
    """Return the HTML of these experiments' runs; one without any is named as not run.

    Documents that lie in `folder`, beside the page, are linked to.
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
    """Return the drawings of the charts that have something to show."""
    found = (drawing(chart, experiment, runs) for chart in experiment.charts)
    return [each for each in found if each is not None]


def data(each: Drawing) -> dict:
    return json.loads(plot(each).to_json())


def counts(judged: list[Verdict]) -> dict[str, object]:
    """Return how many claims there are, and how many of each verdict that there is."""
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
    """Return a text with its code as such, and no number parted from its unit."""
    text = UNIT.sub("&nbsp;", str(escape(words)))
    return Markup(OPTION.sub(r'<span class="option">\1</span>', CODE.sub(r"<code>\1</code>", text)))


def folded(title: str) -> Markup:
    """Return the title of a column in lines as short as its words allow."""
    lines = textwrap.wrap(title, TITLE, break_long_words=False, break_on_hyphens=False)
    return Markup("<br>").join(lines)


def day(date: str) -> str:
    """Return the day of a date, as it stands in the record."""
    return date.split("T")[0]


def text(name: str) -> Markup:
    """Return a file of ours that goes into the page as it is."""
    return Markup((HERE / name).read_text(encoding="utf-8"))
