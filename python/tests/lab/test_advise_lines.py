"""The lines of advice, from made-up facts and figures."""

import unittest
from dataclasses import replace

from pgsluice_lab.advise import settings
from pgsluice_lab.advise.facts import Column, Facts, Node, Server
from pgsluice_lab.advise.figures import Figures, Load, Way
from pgsluice_lab.advise.lines import Asked, lines
from pgsluice_lab.advise.settings import GIB, MIB, Whole

ROOT = Node("public.events", kind="p", key="HASH (id)")
LEAF = Node(
    "public.events_0", parent=0, level=1, bound="FOR VALUES WITH (modulus 2, remainder 0)",
    indexes=2, rows=1_000_000, bytes=3 * GIB, index_bytes=GIB, empty=False,
)  # fmt: skip
EVENTS = Facts("events", [ROOT, LEAF, LEAF], [Column("id"), Column("kind")])
FLAT = Facts("flat", [replace(LEAF, parent=None, level=0, bound="")])
ASKED = Asked("the first 200,000 rows of x.csv", 400_000, 1, 2, 200_000, "x.csv", ("-t", "events"))
# Seconds of 200,000 rows by case, engine, and connections; for INSERT, by rows per statement.
SECONDS = {
    ("tree", "psql", 1): 2.0,
    ("plain", "psql", 1): 1.0,
    ("bare", "psql", 1): 1.5,
    ("tree", "psql", 2): 1.6,
    ("tree", "psql-ordered", 2): 1.25,
    ("tree", "psql-leaves", 2): 0.8,
    ("tree", "pgsluice-exchange", 2): 0.4,
    ("tree", "pgsluice", 1): 1.0,
    ("tree", "pgsluice", 2): 0.5,
}
INSERTS = {1: 400, 10: 3_000, 100: 21_000, 1_000: 25_000}


def loads(**changed: float | None) -> list[Load]:
    """Return a round of loads; `tree_psql_1=3` changes one, and None removes it."""
    seconds = dict(SECONDS)
    for name, value in changed.items():
        case, engine, jobs = name.split("_", 2)
        key = case, engine.replace("exchange", "pgsluice-exchange"), int(jobs)
        assert key in seconds, key
        seconds[key] = value
    found = [
        Load(Way(*key), 1, each, 200_000 / each, 100 * MIB) for key, each in seconds.items() if each
    ]
    for batch, rate in INSERTS.items():
        found.append(Load(Way("tree", "psycopg-values", 1, batch), 1, 100 / rate, rate, MIB))
    return found


def fewer(psql: float = 0.2, pgsluice: float = 0.1) -> list[Load]:
    """Return a round of loads of 20,000 rows."""
    seconds = {("psql", 1): psql, ("psql", 2): psql, ("pgsluice", 2): pgsluice}
    return [
        Load(Way("tree", engine, jobs, rows=20_000), 1, each, 20_000 / each)
        for (engine, jobs), each in seconds.items()
    ]


class Lines(unittest.TestCase):
    def line(self, number: int, facts: Facts = EVENTS, figures: Figures | None = None) -> str:
        figures = figures or Figures(loads(), 9, 2)
        return lines(facts, figures, ASKED)[number]

    def test_there_are_ten(self):
        found = lines(EVENTS, Figures([*loads(), *fewer()], 9, 2), ASKED)
        self.assertEqual(len(found), 10)
        self.assertEqual(len(lines(EVENTS, Figures(loads(), 9, 2), ASKED)), 9)

    def test_the_shape(self):
        self.assertEqual(
            self.line(0),
            "events: 2 leaves by HASH (id); about 2,000,000 rows; 6.00 GiB and 2.00 GiB of indexes"
            " (2 a leaf); 0 of 2 leaves empty.",
        )

    def test_the_shape_of_leaves_that_differ_and_were_never_analyzed(self):
        odd = replace(LEAF, indexes=0, rows=None, empty=True)
        self.assertEqual(
            self.line(0, replace(EVENTS, nodes=[ROOT, LEAF, odd])),
            "events: 2 leaves by HASH (id); never analyzed; 6.00 GiB and 2.00 GiB of indexes"
            " (0 to 2 a leaf); 1 of 2 leaves empty.",
        )

    def test_measured_and_unmeasured_lines(self):
        facts = replace(EVENTS, triggers=1, foreign_keys=2)
        self.assertEqual(
            self.line(1, facts),
            "Measured with the first 200,000 rows of x.csv, as COPY text, into empty copies;"
            " PostgreSQL 18, one round. Not copied, so not in the figures: 1 trigger, 2 foreign"
            " keys.",
        )

    def test_few_rows_are_reported(self):
        found = lines(EVENTS, Figures(loads()), replace(ASKED, rows=9_999))
        self.assertRegex(found[1], "one round. So few rows show how programs begin")
        self.assertNotIn("few", self.line(1))

    def test_rounds_that_differ_are_reported(self):
        again = [replace(load, round=2, seconds=2 * load.seconds) for load in loads()]
        self.assertRegex(
            self.line(1, figures=Figures(loads() + again)),
            "Rounds differed by a factor of 2.0: measure again in quiet.$",
        )

    def test_costs_of_partitioning(self):
        self.assertEqual(
            self.line(2),
            "A COPY into a plain table with the same indexes is 2.0 times as fast as through the"
            " root: 2.00 s against 1.00 s; fewer partitions could save no more than that.",
        )

    def test_partitioning_that_costs_nothing_or_less(self):
        self.assertEqual(
            self.line(2, figures=Figures(loads(tree_psql_1=1.02))),
            "Partitioning costs a COPY through the root nothing that shows: 1.02 s against 1.00 s"
            " plain.",
        )
        self.assertIn(
            "is 1.25 times as fast as into a plain table with the same indexes: 800 ms against",
            self.line(2, figures=Figures(loads(tree_psql_1=0.8))),
        )

    def test_a_copy_that_failed_is_reported(self):
        failed = Load(Way("tree", "psql"), 1, reason="psql ended with status 3: ERROR: no")
        self.assertEqual(
            self.line(2, figures=Figures([failed, *loads(tree_psql_1=None)])),
            "COPY through the root did not come out right: psql ended with status 3: ERROR: no.",
        )

    def test_the_best_way(self):
        self.assertEqual(
            self.line(3),
            "Load with: pgsluice load x.csv -t events -j 2: 400,000 rows/s, 4.0 times as fast as"
            " one COPY through the root. Speed of others over 2 connections, to one COPY through"
            " the root: COPY 1.25 times; COPY of rows ordered by partition before 1.60 times;"
            " COPY of a file a leaf, made before 2.5 times; pgsluice --exchange 5.0 times"
            " (only for empty leaves, which 0 of 2 are).",
        )

    def test_exchange_is_the_best_way_where_all_leaves_are_empty(self):
        empty = replace(LEAF, empty=True)
        self.assertIn(
            "pgsluice load x.csv -t events -j 2 --exchange: 500,000 rows/s, 5.0 times as fast",
            self.line(3, replace(EVENTS, nodes=[ROOT, empty, empty])),
        )

    def test_an_exchange_that_is_refused_is_reported(self):
        reason = "pgsluice ended with status 1: error: public.events has a rule"
        refused = Load(Way("tree", "pgsluice-exchange", 2), 1, reason=reason)
        self.assertIn(
            "pgsluice --exchange not possible (public.events has a rule)",
            self.line(3, figures=Figures([*loads(tree_exchange_2=None), refused])),
        )

    def test_the_root_may_be_the_best_way(self):
        self.assertIn(
            r"Load with: psql's \copy: 2,000,000 rows/s. Speed of others over 2 connections, ",
            self.line(3, figures=Figures(loads(tree_psql_1=0.1))),
        )
        self.assertIn(
            r"psql's \copy of the file in 2 parts at once: 1,000,000 rows/s, 10 times as fast",
            self.line(3, figures=Figures(loads(tree_psql_2=0.2))),
        )

    def test_no_more_connections_than_help(self):
        self.assertEqual(
            self.line(4),
            "Connections of pgsluice, and rows/s: 1: 200,000, 2: 400,000. Take -j 2.",
        )
        few = Figures(loads(tree_pgsluice_1=0.52))
        self.assertTrue(self.line(4, figures=few).endswith("Take -j 1."))
        self.assertIn("-t events -j 1: 385,000 rows/s", self.line(3, figures=few))

    def sizes(self, *few: Load, **changed: float) -> str:
        return self.line(5, figures=Figures([*loads(**changed), *few]))

    def test_the_sizes_for_which_it_holds(self):
        self.assertEqual(
            self.sizes(*fewer()),
            "This holds from 20,000 rows, 2.0 times as fast as one COPY, to 200,000, 4.0 times and,"
            " as it grows, for more.",
        )
        self.assertEqual(
            self.sizes(*fewer(pgsluice=0.04)),
            "This holds from 20,000 rows, 5.0 times as fast as one COPY, to 200,000, 4.0 times;"
            " for more, add --rows.",
        )

    def test_another_way_is_better_for_few_rows(self):
        self.assertEqual(
            self.sizes(*fewer(psql=0.05)),
            "This holds for loads of about 200,000 rows and more: with 20,000 rows psql's \\copy is"
            " 2.0 times as fast as pgsluice.",
        )

    def test_copy_is_best_for_both_sizes(self):
        self.assertEqual(
            self.sizes(*fewer(psql=0.05), tree_psql_1=0.1, tree_psql_2=0.1),
            "This holds from 20,000 rows to 200,000, which were measured.",
        )

    def test_costs_of_indexes(self):
        self.assertEqual(
            self.line(5),
            "Without the 2 indexes of each leaf a COPY is 1.33 times as fast: 2.00 s with,"
            " 1.50 s without."
            " --exchange, which builds indexes last, takes 400 ms over 2 connections.",
        )

    def test_indexes_that_cost_nothing_or_are_not_there(self):
        self.assertEqual(
            self.line(5, figures=Figures(loads(bare_psql_1=1.95))),
            "The 2 indexes of each leaf take no time of a COPY that shows: 2.00 s with,"
            " 1.95 s without.",
        )
        bare = replace(LEAF, indexes=0)
        self.assertEqual(
            self.line(5, replace(EVENTS, nodes=[ROOT, bare, bare])),
            "There are no indexes, which load fastest.",
        )

    def test_how_many_rows_a_statement(self):
        self.assertEqual(
            self.line(6),
            "INSERT writers, rows a statement and rows/s: 1: 400, 10: 3,000, 100: 21,000,"
            " 1,000: 25,000. Send 100 or more; one COPY: 100,000.",
        )

    def test_a_table_without_partitions(self):
        found = lines(FLAT, Figures(loads(plain_psql_1=None)), ASKED)
        self.assertEqual(len(found), 9)
        self.assertTrue(found[0].startswith("flat: not partitioned; about 1,000,000 rows; 3.00"))
        self.assertEqual(
            found[2],
            "Not partitioned, so there is nothing to pay for that: COPY loads 100,000 rows/s.",
        )
        self.assertIn("4.0 times as fast as one COPY.", found[3])

    def test_nothing_measured_says_why(self):
        failed = Load(Way("tree", "psql"), 1, reason="out of disk")
        found = lines(EVENTS, Figures([failed]), ASKED)
        self.assertEqual(found[2], "COPY through the root did not come out right: out of disk.")
        self.assertEqual(len(found), 3)


class Settings(unittest.TestCase):
    """A load with 200 MiB of WAL per second, and 524 bytes per row."""

    def volume(self, size: int, rows: int | None) -> str:
        whole = Whole(rows, "all rows") if rows else None
        return settings.volume(Server(max_wal_size=size), 200.0 * MIB, 524.288, whole)

    def test_wal_that_fits(self):
        self.assertEqual(
            self.volume(GIB, 400_000),
            "max_wal_size = 1GB is enough: this load writes 200 MiB of WAL a second, about 200 MiB"
            " for all rows.",
        )

    def test_seldom_checkpoints_are_enough(self):
        self.assertEqual(
            self.volume(32 * GIB, None),
            "max_wal_size = 32GB is enough: this load writes 200 MiB of WAL a second, so a"
            " checkpoint begins every 86 s of loading.",
        )

    def test_wal_that_does_not_fit(self):
        self.assertEqual(
            self.volume(GIB, 10_000_000),
            "Set max_wal_size = 16GB: this load writes 200 MiB of WAL a second, about 4.9 GiB for"
            " all rows, so with 1GB a checkpoint begins every 2.7 s of loading.",
        )
        self.assertTrue(self.volume(GIB, None).startswith("Set max_wal_size = 32GB: "))

    def test_checkpoints_by_time(self):
        self.assertEqual(
            settings.timeout(Server(), 1_000, Whole(1_000_000, "all rows")),
            "Set checkpoint_timeout = 30min, not 5min: loading all rows takes 17 min.",
        )
        self.assertEqual(
            settings.timeout(Server(), 1_000, Whole(300_000, "all rows")),
            "checkpoint_timeout = 5min is enough: loading all rows takes 5.0 min.",
        )
        self.assertEqual(
            settings.timeout(Server(), 1_000, None),
            "checkpoint_timeout = 5min is enough for loads of 300,000 rows.",
        )

    def test_wal_level(self):
        level = settings.level
        self.assertEqual(
            level(Server(replicas=1, archive_mode="on"), 10, 5),
            "wal_level = replica has to stay, for 1 replica and archiving.",
        )
        self.assertIn("can stay; minimal would save", level(Server(), 10.0 * MIB, 5.0 * MIB))
        self.assertIn("5.00 MiB of WAL", level(Server(), 10.0 * MIB, 5.0 * MIB))
        self.assertIn("help only tables that the load itself makes", level(Server(), 10, None))
        self.assertEqual(
            level(Server(wal_level="minimal"), 10.0 * MIB, MIB),
            "wal_level = minimal is the least: --exchange writes 1.00 MiB of WAL, not 10.0 MiB.",
        )

    def test_locks(self):
        self.assertEqual(
            settings.locks(EVENTS, Figures([], 9, 2)),
            "max_locks_per_transaction = 64 is enough: one COPY through the root held 9 locks,"
            " the server has room for 6,400.",
        )
        self.assertEqual(
            settings.locks(EVENTS, Figures([], 3_000, 1)),
            "Set max_locks_per_transaction = 128, not 64: one COPY through the root held 3,000"
            " locks with 1 of 2 leaves, the server has room for 6,400, which all sessions share.",
        )


if __name__ == "__main__":
    unittest.main()
