"""The report in a real browser: on a phone and on a wide screen, in light and in dark."""

import itertools
import os
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import report
from pgsluice_lab.report import images, page
from pgsluice_lab.report.palette import DARK, LIGHT
from pgsluice_lab.report.results import newest

from . import synthetic
from .browser import Browser, programs

ROOT = Path(__file__).resolve().parents[3]
COMMITTED = ROOT / "docs" / "lab" / "report.html"
WIDTHS = (400, 1600)
SCHEMES = {"light": LIGHT, "dark": DARK}
# For each chart: its title, whether it is in the page, and its number of marks.
CHARTS = """[...document.querySelectorAll('.chart')].map(chart => ({
    title: chart.querySelector('figcaption').textContent,
    width: chart.querySelector('svg.main-svg')?.clientWidth ?? 0,
    height: chart.querySelector('svg.main-svg')?.clientHeight ?? 0,
    marks: chart.querySelectorAll('.plot path.point, .plot .point path').length,
    right: chart.querySelector('svg.main-svg')?.getBoundingClientRect().right ?? 0,
    cut: [...chart.querySelectorAll('.plot svg.main-svg text')].filter(text =>
        text.getBoundingClientRect().right >
        chart.querySelector('svg.main-svg').getBoundingClientRect().right + 1)
        .map(text => text.textContent),
}))"""

OPEN = "for (const each of document.querySelectorAll('details')) each.open = true"
CHART_PAPER = "document.querySelector('.main-svg').style.background"


class InABrowser(unittest.TestCase):
    """A page with all that a report can show, and the committed one."""

    @classmethod
    def setUpClass(cls):
        cls.programs = programs()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        synthetic.write(cls.folder)
        made = cls.folder / "report.html"
        made.write_text(page.html(synthetic.experiments(), newest(cls.folder)))
        cls.pages = [made, COMMITTED] if COMMITTED.exists() else [made]
        cls.browser = Browser(cls.programs)
        cls.addClassCleanup(cls.browser.quit)

    def views(self):
        return itertools.product(self.pages, WIDTHS, SCHEMES)

    @contextmanager
    def seen(self, file, width, scheme):
        with self.subTest(file=str(file), width=width, scheme=scheme):
            self.browser.open(file, width, scheme)
            yield

    def test_no_complaint_and_no_request(self):
        for file, width, scheme in self.views():
            with self.seen(file, width, scheme):
                self.assertEqual(self.browser.console(), [])
                asked = [url for url in self.browser.requests() if not url.startswith("data:")]
                self.assertEqual(asked, [file.as_uri()])

    def test_every_chart_is_drawn_and_fits(self):
        for file, width, scheme in self.views():
            with self.seen(file, width, scheme):
                charts = self.browser.ask(CHARTS)
                self.assertGreater(len(charts), 0)
                for chart in charts:
                    self.assertGreater(chart["marks"], 0, chart)
                    self.assertGreater(chart["width"], min(width, 600) * 0.8, chart)
                    self.assertGreater(chart["height"], 60, chart)
                    self.assertLessEqual(chart["right"], width, chart)
                    self.assertEqual(chart["cut"], [], chart)

    def test_the_page_does_not_scroll_sideways(self):
        for file, width, scheme in self.views():
            with self.seen(file, width, scheme):
                self.browser.run(
                    "document.querySelectorAll('details').forEach(it => it.open = true)"
                )
                wide = self.browser.ask("document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width)

    def test_colours_are_the_readers(self):
        for file, width, scheme in self.views():
            with self.seen(file, width, scheme):
                paper = rgb(SCHEMES[scheme]["paper"])
                body = self.browser.ask("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(body, paper)
                self.assertEqual(self.browser.ask(CHART_PAPER), paper)

    def test_pointing_at_a_mark_shows_its_figure(self):
        self.browser.open(self.pages[0], 1600, "light")
        chart = "document.querySelector('.plot')"
        self.browser.run(f"Plotly.Fx.hover({chart}, [{{curveNumber: 2, pointNumber: 3}}])")
        shown = self.browser.ask(f"{chart}.querySelector('.hovertext').textContent")
        self.assertIn("1.00 s (0.950 s to 1.10 s)", shown)

    def test_a_name_in_the_legend_hides_its_series(self):
        self.browser.open(self.pages[0], 1600, "light")
        traces = "document.querySelectorAll('.chart:first-child .plot g.trace').length"
        press = "document.querySelector('.chart .legend button').click()"
        before = self.browser.ask(traces)
        self.browser.run(press)
        self.assertEqual(self.browser.ask(traces), before - 1)
        self.browser.run(press)
        self.assertEqual(self.browser.ask(traces), before)

    def test_on_paper_all_is_open_and_light(self):
        self.browser.open(self.pages[0], 1600, "dark")
        closed = "document.querySelectorAll('details:not([open])').length"
        before = self.browser.ask(closed)
        self.assertGreater(before, 0)
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.browser.ask(closed), 0)
        self.assertEqual(self.browser.ask(CHART_PAPER), rgb(LIGHT["paper"]))
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.ask(closed), before)
        self.assertEqual(self.browser.ask(CHART_PAPER), rgb(DARK["paper"]))

    def test_charts_are_written_as_files(self):
        browser = patch.dict(os.environ, BROWSER_PATH=self.programs[0])
        with browser, patch.object(images, "experiments", synthetic.experiments):
            files = report.images.write(self.folder, self.folder / "charts")
        charts = sum(len(each.charts) for each in synthetic.experiments())
        self.assertEqual(len(files), 2 * charts)
        for file in files:
            start = b"<svg" if file.suffix == ".svg" else b"\x89PNG"
            self.assertTrue(file.read_bytes().startswith(start), file.name)


def rgb(colour: str) -> str:
    """Return a colour in the form of browsers."""
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


if __name__ == "__main__":
    unittest.main()
