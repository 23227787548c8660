"""Engines: command lines, the meaning of their output, and missing programs."""

import unittest
from unittest.mock import patch

from pgsluice_lab import engine, programs
from pgsluice_lab.engine import Engine, available
from pgsluice_lab.failure import LabError


class Commands(unittest.TestCase):
    def test_names_are_put_in_their_places(self):
        made = Engine("x", "X", ["{program}", "-t", "{table}", "{load...}", "a{jobs}"], "no-such")
        names = {"table": "t", "load": ["--header", "-q"], "jobs": 2}
        self.assertEqual(made.arguments(names), ["no-such", "-t", "t", "--header", "-q", "a2"])

    def test_figures_are_read_from_the_output(self):
        pgbench = engine.engines()["pgbench"]
        output = "latency average = 13.776 ms\ntps = 725.901931 (without initial connection time)"
        self.assertEqual(pgbench.read_figures(output), {"tps": 725.901931, "latency_ms": 13.776})

    def test_how_many_rows_were_updated_is_read_from_the_output(self):
        for name, output in (
            ("psql-staged-update", "CREATE TABLE\nCOPY 7\nANALYZE\nUPDATE 5\n"),
            (
                "pgsluice-update",
                '{"rows_read":7,"counts":{"inserted":0,"updated":5,"not_found":2},'
                '"by_leaf":[{"table":"t","inserted":0,"updated":3}]}',
            ),
        ):
            self.assertEqual(engine.engines()[name].read_figures(output), {"updated": 5}, name)

    def test_every_engine_has_a_known_form(self):
        for each in engine.engines().values():
            self.assertIn(each.form, engine.FORMS, each.name)


class Availability(unittest.TestCase):
    def setUp(self):
        self.enterContext(patch.object(programs, "find", lambda _: None))

    def test_one_that_may_be_missing_is_left_out_and_reported(self):
        here, about = available(["pgloader"])
        self.assertEqual(here, {})
        self.assertIn("not on the PATH", about["pgloader"].missing)

    def test_one_that_is_needed_is_an_error_with_the_way_to_get_it(self):
        with self.assertRaisesRegex(LabError, "psql") as raised:
            available(["psql"])
        self.assertIn("pip install", raised.exception.hint)


if __name__ == "__main__":
    unittest.main()
