"""Benchmarks of several experiments: their parts as one record, its figures and its table."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab.record import Postgresql, Run

from bench import delays, footers, grid, record, tables
from bench.record import Record, joined, name_of, newest

from .loads import a_record


def grid_of(
    bench: str, rows: list[int], psql: float, one: float, two: float, rounds: int = 1
) -> Record:
    """Return a part of the grid: plain tables with the same times for each number of rows."""
    seconds = {"psql": psql, "pgsluice-one": one, "pgsluice": two}
    given = {engine: [spent] * rounds for engine, spent in seconds.items()}
    parts = [a_record(bench, given, {}, {"rows": n, "leaves": 0, "key": 0}) for n in rows]
    titles = {"pgsluice-one": replace(parts[0].head.engines["psql"], title="pgsluice load -j 1")}
    head = replace(parts[0].head, engines={**parts[0].head.engines, **titles})
    return Record(head, [load for part in parts for load in part.loads])


GRID = {
    "grid-small": grid_of("grid-small", [1, 100], 1, 0.5, 0.5, 21),
    "grid-large": grid_of("grid-large", [100_000], 1, 0.5, 0.5, 5),
    "grid-million": grid_of("grid-million", [1_000_000], 4, 8, 0.5, 3),
}


class Parts(unittest.TestCase):
    def test_all_parts_are_one_benchmark_and_fewer_are_none(self):
        whole = joined("grid", 18, GRID)
        self.assertEqual((whole.rounds, whole.head.experiment), ([3, 5, 21], "grid"))
        self.assertTrue(footers.date(whole).startswith("Medians of 3 to 21 interleaved rounds"))
        self.assertEqual(whole.values("rows"), [1, 100, 100_000, 1_000_000])
        some = {name: each for name, each in GRID.items() if name != "grid-large"}
        self.assertTrue(joined("grid", 18, some) is None, "fewer are none")
        self.assertIsNone(joined("grid", 15, GRID))

    def test_parts_of_two_machines_are_none(self):
        large = GRID["grid-large"]
        other = replace(large.head, machine=replace(large.head.machine, cores=64))
        self.assertIsNone(joined("grid", 18, {**GRID, "grid-large": replace(large, head=other)}))

    def test_an_engine_of_two_cases_has_the_rounds_of_each(self):
        one = a_record("x", {"psql": [1, 3]})
        other = [replace(load, case="other", seconds=5) for load in one.loads]
        both = replace(one, loads=one.loads + other)
        self.assertEqual((both.rounds, len(both.loads_of("psql"))), ([2], 4))
        self.assertEqual([case.median("seconds", "psql") for case in both.cases], [2, 5])

    def test_an_older_server_is_in_the_name_and_beside_the_newest(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for part in GRID.values():
            older = Postgresql("15.1", {}, 15, embedded=True)
            for head in (part.head, replace(part.head, postgresql=older)):
                name = f"{head.experiment}-full-pg{head.postgresql.major}-2026-11-21T200000.jsonl"
                file = folder / name
                file.write_text(Run(file, head, part.loads).lines())
        with patch.object(record, "RECORDS", folder):
            found = newest()
        names = {*GRID, "grid"}
        self.assertEqual(found.keys(), {*names, *(f"{name}-pg15" for name in names)})
        self.assertEqual(
            {name: name_of(each.head) for name, each in found.items()}, {n: n for n in found}
        )


class Grid(unittest.TestCase):
    def test_mean_is_geometric_and_the_worst_is_named(self):
        whole = joined("grid", 18, GRID)
        # Two halves, twice and an eighth, for 10,000 rows: the fourth root of 1/16.
        self.assertEqual((grid.mean(whole), grid.most(whole)), (0.5, 2.0))
        worst = grid.worst(whole)
        self.assertEqual((worst.rows, worst.engine), (1_000_000, "pgsluice-one"))

    def test_smaller_loads_are_compared_by_time(self):
        slow = grid_of("grid-small", [1, 9_999], 0.01, 0.013, 0.0141)
        self.assertEqual(grid.later(joined("grid", 18, {**GRID, "grid-small": slow})), 4.1)
        self.assertIsNone(grid.later(GRID["grid-large"]))

    def test_the_table_has_a_line_for_each_size(self):
        text = tables.grid(joined("grid", 18, GRID))
        self.assertIn("| rows | plain |\n", text)
        self.assertIn("| 100 | 0.50 / 0.50 |\n", text)
        self.assertIn("| 1,000,000 | 2.00 / 0.12 |\n", text)
        self.assertIn("the worst is **2.00**, 1,000,000 rows, plain, `-j 1`.", text)
        rounds = "21 times up to 100 rows, 5 times up to 100,000 rows, 3 times up to 1,000,000 rows"
        self.assertIn(rounds, text)
        self.assertIn("Loads of fewer rows take at most **-500.0 ms** longer", text)


class Network(unittest.TestCase):
    def setUp(self):
        """Create loads of a second with 10 or 12 round trips, and the last one longer at 20 ms."""
        loads, head = [], None
        for rows, engines in (
            (5_000_000, {"pgsluice": 12, "pgsluice-eight": 10}),
            (100, {"psql": 10, "pgsluice": 12}),
        ):
            for delay in ("none", "0", "1", "20"):
                wait = 0 if delay == "none" else float(delay) / 1000
                seconds = {name: [1 + trips * wait] for name, trips in engines.items()}
                part = a_record(
                    "network", seconds, {"leaves": 800}, {"rows": rows, "milliseconds": delay}
                )
                loads += part.loads
                head = head or part.head
                head = replace(head, engines={**head.engines, **part.head.engines})
        self.record = Record(head, loads)

    def test_large_loads_are_held_against_the_loopback(self):
        self.assertEqual(delays.slowest(self.record, "pgsluice"), 1.24)
        self.assertEqual(delays.slowest(self.record, "pgsluice-eight"), 1.2)

    def test_small_loads_are_counted_in_round_trips_beside_psql(self):
        self.assertEqual(delays.round_trips(self.record, "psql", 100, "20"), 10)
        self.assertEqual(delays.more_round_trips(self.record), 2)

    def test_the_table_shows_both(self):
        text = tables.network(self.record)
        self.assertIn("| pgsluice load -j 2 | 1.00 | 1.01 | 1.24 |", text)
        self.assertIn("| 100 rows, pgsluice load -j 2 | 12.0 | 12.0 |", text)


if __name__ == "__main__":
    unittest.main()
