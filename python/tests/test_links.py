"""`scripts/links.py` and `scripts/site.py`, which `make check` runs over the documentation."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(*place: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "links.py"), *place]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Links(unittest.TestCase):
    def test_every_link_of_the_documentation_leads_somewhere(self):
        self.assertEqual(check().stderr, "")

    def test_broken_links_are_named(self):
        with tempfile.TemporaryDirectory() as place:
            docs = Path(place, "docs")
            docs.mkdir()
            Path(place, "README.md").write_text(
                "# A `b` c\n\n[here](#a-b-c) [there](docs/page.md#x-1) [web](https://x.invalid)\n"
                "[gone](docs/gone.md) [nowhere](docs/page.md#y) [out](../../etc/hosts)\n"
            )
            Path(docs, "page.md").write_text("# x\n\n## x\n\n![picture](none.svg)\n")
            run = check(place)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(
            run.stderr.splitlines(),
            [
                "links: README.md: docs/gone.md: there is no such file",
                "links: README.md: docs/page.md#y: there is no such heading",
                "links: README.md: ../../etc/hosts: there is no such file",
                "links: docs/page.md: none.svg: there is no such file",
            ],
        )


class Site(unittest.TestCase):
    def test_pages_that_are_html_already_link_to_those_of_the_site(self):
        with tempfile.TemporaryDirectory() as place:
            script = str(ROOT / "scripts" / "site.py")
            subprocess.run([sys.executable, script, f"{place}/pages"], check=True)
            report = Path(place, "pages", "docs", "lab", "report.html").read_text()
        self.assertIn('href="METHOD.html"', report)
        self.assertNotIn('href="METHOD.md"', report)


if __name__ == "__main__":
    unittest.main()
