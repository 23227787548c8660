"""Records of programs that are timed together."""

import json
import tempfile
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from bench import goals, rounds, spark
from bench.move.record import newest as move
from bench.rounds import Round, Rounds


def a_record() -> Rounds:
    about = move()
    times = {"jdbc": [40, 60, 50], "pgsluice": [10, 8, 9]}
    return Rounds(
        case="spark",
        date="2026-11-27T20:00:00+00:00",
        pgsluice="0.1.0",
        commit="abc",
        parameters={"rows": 100, "leaves": 4, "partitions": 8, "cores": 2, "rounds": 3},
        programs={"Spark": "4.3.0"},
        machine=about.machine,
        postgresql=about.postgresql,
        titles={"jdbc": "JDBC", "pgsluice": "by us"},
        rows=100,
        rounds=[Round(way, each) for way, all_ in times.items() for each in all_],
    )


class Records(unittest.TestCase):
    def test_medians_are_compared_with_the_first_way(self):
        self.assertEqual(a_record().faster("pgsluice", "jdbc"), 5.56)
        self.assertIsNone(a_record().faster("pgsluice", "nothing"))
        lines = spark.section(a_record()).splitlines()
        self.assertIn("| JDBC | 50.00 | 2 | 1.00 |", lines)
        self.assertIn("| by us | 9.00 | 11 | 5.56 |", lines)
        (judged,) = goals.judge("spark", a_record())
        self.assertEqual((judged.shown, judged.verdict), ("5.56", "holds"))

    def test_only_the_whole_benchmark_writes_a_record(self):
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.object(rounds, "RECORDS", Path(folder)),
            patch.object(goals.place, "ROOT", Path(folder)),
            redirect_stdout(StringIO()) as output,
        ):
            self.assertEqual(goals.end(a_record(), is_whole=False), 0)
            self.assertIsNone(rounds.newest("spark"))
            self.assertEqual(goals.end(a_record(), is_whole=True), 0)
            self.assertEqual(rounds.newest("spark"), a_record())
        self.assertIn("record: spark-2026-11-27T200000.json", output.getvalue())

    def test_a_record_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder, patch.object(rounds, "RECORDS", Path(folder)):
            self.assertIsNone(rounds.newest("spark"))
            file = a_record().write()
            self.assertEqual(rounds.newest("spark"), a_record())
            later = replace(a_record(), date="2026-11-28T20:00:00+00:00", rows=7)
            later.write()
            self.assertEqual(rounds.newest("spark").rows, 7)
            file.write_text(json.dumps({"version": 0}))
            with self.assertRaisesRegex(Exception, "is not of version 1"):
                Rounds.read(file)


if __name__ == "__main__":
    unittest.main()
