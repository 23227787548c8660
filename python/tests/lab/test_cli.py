"""The command line: its help, its server, and its exit statuses."""

import os
import re
import signal
import subprocess
import sys
import unittest
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

from pgsluice import __version__
from pgsluice_lab import cli, record
from pgsluice_lab.experiment import SCALES, experiments
from pgsluice_lab.failure import LabError

from .test_target import elsewhere

RECORDS = Path(__file__).resolve().parents[3] / "docs" / "lab" / "records"


def run_lab(*args: str, **env: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pgsluice_lab", *args]
    env = {**elsewhere(), "COLUMNS": "100", **env}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


class Helping(unittest.TestCase):
    def test_the_version(self):
        for option in ("--version", "-V"):
            done = run_lab(option)
            self.assertEqual((done.returncode, done.stdout), (0, f"pgsluice-lab {__version__}\n"))

    def test_help_is_short_as_well_as_long(self):
        for command in ((), ("list",), ("run",), ("report",), ("advise",)):
            short, long = run_lab(*command, "-h"), run_lab(*command, "--help")
            self.assertEqual((short.returncode, short.stdout), (0, long.stdout))
            self.assertIn("--help", short.stdout)

    def test_options_are_named_for_what_they_take(self):
        text = (
            run_lab("run", "-h").stdout
            + run_lab("advise", "-h").stdout
            + run_lab("report", "-h").stdout
        )
        for expected in (
            "-d, --dbname NAME|URL|CONNINFO", "--scale small|medium|full", "--rounds N",
            "--records DIR", "-o, --output FILE", "-t, --table TABLE", "--format csv|text",
        ):  # fmt: skip
            self.assertIn(expected, text)
        self.assertEqual(re.findall(r"^ +-.*<\w+", text, re.MULTILINE), [])

    def test_list_says_how_long_each_takes(self):
        lines = run_lab("list").stdout.splitlines()
        self.assertEqual(lines[0].split()[:4], ["name", *SCALES])
        for each in experiments():
            [line] = [line for line in lines if line.startswith(each.name)]
            times = [cli.duration(each.scales[name].minutes) for name in SCALES]
            self.assertEqual(re.findall(r"[\d.]+ (?:min|h|days)", line), times)
        self.assertTrue(lines[-1].startswith("all"))

    def test_times_are_printed_in_two_digits(self):
        for minutes, expected in ((1, "1 min"), (75, "1.2 h"), (60, "1 h"), (4_500, "3.1 days")):
            self.assertEqual(cli.duration(minutes), expected)

    def test_the_times_are_about_those_of_the_committed_records(self):
        for run in record.newest(RECORDS):
            if not run.ended:
                continue
            scale = {each.name: each for each in experiments()}[run.head.experiment].scales[
                run.head.scale
            ]
            began, *_, ended = sorted([run.head.date, *(load.date for load in run.loads)])
            took = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
            minutes = took.total_seconds() / 60
            self.assertLess(minutes, 2 * scale.minutes, run.file.name)
            self.assertGreater(minutes, scale.minutes / 3, run.file.name)


class Place(unittest.TestCase):
    def opened(self, *args: str, **env: str) -> object:
        """Return the server that `run` opens."""
        with (
            patch.dict(os.environ, {**elsewhere(), **env}, clear=True),
            patch.object(cli.site, "opened", side_effect=LabError("no")) as opened,
            self.assertRaises(LabError),
        ):
            cli.app(["run", "copy-order", *args], standalone_mode=False)
        return opened.call_args.args[0]

    def test_run_measures_where_psql_would_connect_to(self):
        self.assertEqual(self.opened("-d", "shop"), "dbname=shop")
        self.assertEqual(self.opened(PGDATABASE="shop"), "")
        self.assertEqual(self.opened(DATABASE_URL="postgres://h/d"), "postgres://h/d")

    def test_without_any_it_is_an_embedded_server(self):
        self.assertIsNone(self.opened())
        self.assertIsNone(self.opened("--embedded", PGHOST="h"))
        self.assertIsNone(self.opened("--server-bin", "/nowhere", PGHOST="h"))

    def test_two_servers_are_one_too_many(self):
        for option in (["--embedded"], ["--server-bin", "/nowhere"]):
            done = run_lab("run", "copy-order", "-d", "shop", *option)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"error: -d and {option[0]} name two servers", done.stderr)

    def test_a_server_that_is_missing_is_reported_without_a_traceback(self):
        for command in (["run", "copy-order"], ["advise", "-t", "orders"]):
            for given, status, words in (
                (["-d", "shop"], 1, "could not connect to the server"),
                (["-d", "host=h dbnam=shop"], 2, "cannot read where to connect to"),
            ):
                done = run_lab(*command, *given, PGHOST="/nowhere")
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr.startswith(f"error: {words}\n"), done.stderr)
                self.assertNotIn("Traceback", done.stderr)


class Ending(unittest.TestCase):
    def test_sigterm_is_taken_as_ctrl_c(self):
        before = signal.getsignal(signal.SIGTERM)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        with (
            patch.object(cli, "app", side_effect=lambda: os.kill(os.getpid(), signal.SIGTERM)),
            self.assertRaises(KeyboardInterrupt),
        ):
            cli.main()

    def test_without_its_libraries_it_says_how_to_get_them(self):
        # Python treats None in sys.modules as a missing package.
        script = (
            "import sys; sys.modules['typer'] = None;from pgsluice_lab.__main__ import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("typer", done.stderr)
        self.assertIn("hint: pip install 'pgsluice[lab]'", done.stderr)


if __name__ == "__main__":
    unittest.main()
