"""Records of loads of objects: ratios to the file, and the share of the bytes that are read."""

import unittest
from dataclasses import replace

from bench import goals, objects
from bench.move.record import newest as move
from bench.rounds import Round, Rounds

SIZES = {"csv": 1000, "zst": 300, "parquet": 200, "columns": 200}


def a_record() -> Rounds:
    about = move()
    seconds = {"csv": 10.0, "csv-0": 10.5, "csv-20": 11.0, "csv-50": 12.0}
    seconds |= {"zst": 5.0, "zst-20": 6.0}
    read = {"csv-20": 1000, "columns-20": 50, "columns-50": 51}
    rounds = [Round(way, each, read.get(way)) for way, each in seconds.items()]
    rounds += [Round(way, 1.0, each) for way, each in read.items() if way not in seconds]
    return Rounds(
        case="objects",
        date="2026-11-29T20:00:00+00:00",
        pgsluice="0.1.0",
        commit="abc",
        parameters={"scale": 1, "rounds": 1} | {f"{way} bytes": n for way, n in SIZES.items()},
        programs={"SeaweedFS": "4.48"},
        machine=about.machine,
        postgresql=about.postgresql,
        titles=objects.titles(),
        rows=6,
        rounds=rounds,
    )


class Objects(unittest.TestCase):
    def test_each_input_is_a_line(self):
        lines = objects.section(a_record()).splitlines()
        self.assertIn("| CSV | 10.00 | 10.50 | 11.00 | 12.00 | 1.00 |", lines)
        self.assertIn("| CSV by zstd | 5.00 |  | 6.00 |  |  |", lines)
        self.assertIn("| Parquet, three of sixteen columns |  |  | 1.00 | 1.00 | 0.25 |", lines)

    def test_goals_compare_with_the_file_and_its_size(self):
        judged = goals.judge("objects", a_record())
        expected = [("1.10", "holds"), ("1.20", "falls short"), ("", "not measured")]
        expected.append(("0.25", "holds"))
        self.assertEqual([(each.shown, each.verdict) for each in judged], expected)

    def test_a_share_needs_the_bytes_of_every_round(self):
        record = a_record()
        record = replace(record, rounds=[*record.rounds, Round("columns-20", 1.0)])
        self.assertEqual(goals.judge("objects", record)[-1].shown, "")


if __name__ == "__main__":
    unittest.main()
