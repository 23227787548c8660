"""The record of a move, its tables, its chart and its goals, and the phases of a move."""

import json
import tempfile
import unittest
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

from pgsluice_lab.failure import LabError
from pgsluice_lab.machine import machine
from pgsluice_lab.record import Machine, Postgresql
from pgsluice_lab.writers.latency import Transaction

from bench import tables
from bench.chart import move_chart
from bench.goals import judge
from bench.move import options, record
from bench.move.latency import Window, by_phase
from bench.move.options import Options
from bench.move.record import Move, Phase, Spent, Swap, Writing
from bench.move.waits import longest_wait
from bench.move.watch import windows
from bench.move.ways import WAYS

SECONDS = {
    "insert": [10.0, 30.0, 11.0],
    "offline": [4.0, 4.4, 4.4],
    "insert-key": [20.0, 20.0, 20.0],
    "offline-key": [5.0, 5.0, 5.0],
    "online-key": [8.0, 8.0, 8.0],
}
MESSAGES = """\
LOG:  process 7 still waiting for RowExclusiveLock on relation 16 of database 5 after 10.1 ms
LOG:  process 7 acquired RowExclusiveLock on relation 16 of database 5 after 120.5 ms
LOG:  process 8 acquired RowExclusiveLock on relation 16 of database 5 after 99.250 ms
LOG:  process 9 acquired ShareLock on transaction 812 after 900.000 ms
LOG:  process 9 acquired ExclusiveLock on extension of relation 16 of database 5 after 500.000 ms
"""
PHASES = [Phase(name, 2.0, 100, 0, 1.0, 9.0, 250.0) for name in ("baseline", "copy", "after")]


def a_record() -> Move:
    """Return a record in which each way peaks at 300 MiB, and writers wait 0 and 480 ms."""
    ways = [
        Spent(way, SECONDS.get(way, [9.0] * 3), [1.0] * 3, [2.0] * 3, [299.0, 300.0, 1.0], [1] * 3)
        for way in WAYS
    ]
    return Move(
        date="2026-11-27T00:00:00+00:00",
        pgsluice="0",
        commit="",
        parameters=vars(Options()),
        machine=Machine(**machine()),
        postgresql=Postgresql("18.6", {"fsync": "on"}, 18, embedded=True),
        ways=ways,
        writing=Writing(8.0, 1234, 30.0, PHASES),
        swaps=[Swap(0, 90.0, 100.0, 80.0), Swap(480.0, 470.0, 900.0, 700.0)],
    )


class Records(unittest.TestCase):
    def test_a_record_is_read_back_and_unknown_keys_are_refused(self):
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "move.json"
        nothing = replace(a_record(), ways=[], writing=None, swaps=[])
        for each in (a_record(), nothing):
            file.write_text(json.dumps(asdict(each)))
            self.assertEqual(Move.read(file), each)
        for change in ({"more": 1}, {"version": 0}, {"ways": [{"way": "insert"}]}):
            file.write_text(json.dumps(asdict(a_record()) | change))
            with self.assertRaises(LabError):
                Move.read(file)

    def test_the_newest_file_is_the_record(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(patch.object(record, "RECORDS", folder))
        self.assertIsNone(record.newest())
        a_record().write()
        later = replace(a_record(), date="2026-11-28T00:00:00+00:00")
        self.assertEqual(later.write().name, "move-2026-11-28T000000.json")
        self.assertEqual(record.newest(), later)

    def test_goals_compare_medians_of_ways_with_the_same_key(self):
        judged = judge("move", a_record())
        self.assertEqual([each.measured for each in judged], [2.5, 4.0, 2.5, 300.0, 480.0])
        self.assertEqual({each.verdict for each in judged}, {"holds"})

    def test_a_part_that_was_not_run_is_not_measured(self):
        judged = judge("move", replace(a_record(), ways=[], swaps=[]))
        self.assertEqual({each.verdict for each in judged}, {"not measured"})

    def test_only_the_whole_benchmark_counts(self):
        for args, expected in (
            ("", True),
            ("--rounds 5", True),
            ("--rounds 2", False),
            ("--swaps 49", False),
            ("--only speed phases", False),
            ("--only swaps speed phases", True),
        ):
            self.assertEqual(options.read(args.split())[2], expected, args)


class Shown(unittest.TestCase):
    def test_the_tables_have_each_way_and_phase(self):
        text = tables.move(a_record())
        for way in WAYS.values():
            self.assertIn(f"| {way.title} |", text)
        self.assertIn("| 4.40 | 2.50 | 1.00 | 2.00 | 300 | 0 |", text)
        self.assertIn("| copy | 2.0 | 50 | 1.00 | 9.00 | 250.00 |", text)
        self.assertIn("| wait of a writer for a lock | 240 | 480 |", text)
        self.assertIn("| transaction during the command | 500 | 900 |", text)
        self.assertIn("| transaction before the command | 390 | 700 |", text)
        self.assertIn("No transactions failed.", text)

    def test_the_chart_has_panels_for_ways_and_latencies(self):
        picture = ElementTree.fromstring(move_chart(a_record()))
        words = [text.text for text in picture.iter() if text.tag.endswith("text")]
        self.assertEqual(words.count("11.00 s"), 1)
        self.assertEqual(words.count("pgsluice: copy"), 2)
        self.assertEqual(words.count("250.0 ms"), len(PHASES))

    def test_parts_that_were_not_run_are_not_shown(self):
        text = tables.move(replace(a_record(), ways=[], writing=None))
        self.assertTrue(text.startswith("2 swaps"))
        text = tables.move(replace(a_record(), swaps=[]))
        self.assertNotIn("swaps", text)


class Latency(unittest.TestCase):
    def test_a_transaction_counts_where_it_began(self):
        spans = [Window("follow", 10, 20), Window("verify", 20, 21), Window("follow", 21, 30)]
        waited = Transaction(19.5, 21.5)
        of_all = [waited, Transaction(20, 20.25), Transaction(21, 21.5), Transaction(30, 30.1)]
        of_all += [Transaction(9.9, 10.5), Transaction(25, 25, failed=True)]
        follow, verify = by_phase(spans, of_all)
        self.assertEqual((follow.seconds, follow.transactions, follow.failed), (19, 2, 1))
        self.assertEqual((follow.p50_ms, follow.longest_ms), (500, 2000))
        self.assertEqual((verify.transactions, verify.longest_ms, verify.a_second), (1, 250, 1))

    def test_a_phase_without_transactions_has_no_latency(self):
        [phase] = by_phase([Window("swap", 1, 1)], [])
        self.assertEqual((phase.transactions, phase.longest_ms, phase.a_second), (0, 0, 0))

    def test_waits_for_a_table_are_read_from_messages(self):
        self.assertEqual(longest_wait(MESSAGES), 120.5)
        self.assertEqual(longest_wait(""), 0)


class Windows(unittest.TestCase):
    def test_a_phase_begins_at_the_last_poll_without_it(self):
        polls = [(1, None), (2, "copy"), (3, "copy"), (4, "verify"), (5, "follow"), (6, "swap")]
        expected = [
            Window("start", 0, 1),
            Window("copy", 1, 3),
            Window("verify", 3, 4),
            Window("follow", 4, 5),
            Window("swap", 5, 8),
        ]
        self.assertEqual(windows(0, [*polls, (7, None)], 8), expected)

    def test_a_swap_that_no_poll_has_shown_follows_the_last_phase(self):
        found = windows(0, [(1, "copy"), (2, "index"), (3, None)], 4)
        self.assertEqual(found[-2:], [Window("index", 1, 2), Window("swap", 2, 4)])


if __name__ == "__main__":
    unittest.main()
