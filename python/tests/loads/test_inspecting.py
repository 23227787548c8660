"""`plan`, `verify`, `tree` and `ledger` equal the command line, also for data in memory."""

import io
import json
import os
import pickle
import signal
import threading
import time
import unittest

import duckdb
import pgsluice
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet
from formats.place import LEAVES, server
from pgsluice.typed import typed

from .place import Loads

TABLE = pa.table({"id": pa.array(range(100), pa.int64()), "name": ["a", None] * 50})
ROWS = [tuple(row.values()) for row in TABLE.to_pylist()]
# The same rows as all kinds of data that can be read again.
KINDS = (TABLE, pl.DataFrame(TABLE), duckdb.from_arrow(TABLE), TABLE.to_pylist(), ROWS)


class Inspecting(Loads):
    def setUp(self):
        super().setUp()
        self.make(name="text")

    def printed(self, kind: type, *args: str):
        """Return the program's output as its type in Python."""
        done = self.run_program(*args, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        value = json.loads(done.stdout)
        if isinstance(value, list):
            return tuple(typed(kind, each) for each in value)
        return typed(kind, value)

    def parquet(self) -> str:
        pa.parquet.write_table(TABLE, self.folder / "rows.parquet")
        return str(self.folder / "rows.parquet")


class Plan(Inspecting):
    def test_printed_form(self):
        file = self.parquet()
        planned = pgsluice.plan(file, "loaded", server(), jobs=1, full=True)
        args = ("plan", file, "-t", "loaded", "-j1", "--full")
        self.assertEqual(planned, self.printed(pgsluice.PlanResult, *args))
        self.assertEqual(pickle.loads(pickle.dumps(planned)), planned)
        text = f"<PlanResult: public.loaded, {LEAVES} leaves: 100 of 100 rows routed; wire binary>"
        self.assertEqual(repr(planned), text)

    def test_data_in_memory(self):
        for data in KINDS:
            with self.subTest(type(data).__name__):
                self.empty("loaded")
                planned = pgsluice.plan(data, "loaded", server())
                self.assertEqual((planned.rows, planned.rows_routed), (100, 100))
                self.assertEqual(planned.self_test.levels, 1)
                self.assertEqual(self.count(), 0)
                # Nothing of it is consumed.
                self.assertEqual(self.put(data).rows_inserted, 100)
        found = self.connection.execute("SELECT tableoid::regclass::text, count(*) FROM loaded"
                                        " GROUP BY 1 ORDER BY 1").fetchall()  # fmt: skip
        of_leaf = [(each.table.removeprefix("public."), each.rows) for each in planned.rows_by_leaf]
        self.assertEqual(of_leaf, found)

    def test_a_load_that_would_fail(self):
        for data in ([*ROWS, ("x", "a")], [{"id": "x"}], pa.table({"id": ["1", "x"]})):
            with self.assertRaises(pgsluice.DataError) as caught:
                pgsluice.plan(data, "loaded", server())
            self.assertIn('invalid input syntax for type bigint: "x"', str(caught.exception))
            self.assertEqual((caught.exception.column, caught.exception.load_id), ("id", None))
        self.connection.execute("DROP TABLE loaded_1")
        with self.assertRaises(pgsluice.DataError) as caught:
            pgsluice.plan(TABLE, "loaded", server())
        self.assertIn('no partition of relation "loaded" found', caught.exception.message)

    def test_a_way_out_is_a_call(self):
        self.connection.execute(
            "DROP TABLE loaded; CREATE TABLE loaded (id bigint, name text) PARTITION BY RANGE (id);"
            "CREATE TABLE loaded_0 PARTITION OF loaded FOR VALUES FROM (0) TO (50)"
        )
        with self.assertRaises(pgsluice.DataError) as caught:
            pgsluice.plan(TABLE, "loaded", server())
        self.assertIn("pgsluice.load(..., create_partitions=True)", caught.exception.hint)
        planned = pgsluice.plan(TABLE, "loaded", server(), full=True)
        self.assertEqual([each.rows for each in planned.missing], [50])
        self.assertIn("CREATE TABLE", planned.missing[0].ddl[0])
        self.assertIn("; missing public.loaded_", repr(planned))

    def test_exhausted_data_is_refused(self):
        for data in (iter([TABLE]), TABLE.to_reader(), [TABLE.to_reader()], io.BytesIO(b"1\n")):
            with self.assertRaisesRegex(TypeError, "plan cannot take an iterator"):
                pgsluice.plan(data, "loaded", server())
        self.assertEqual(self.put(TABLE.to_reader()).rows_inserted, 100)

    def test_errors_speak_in_keywords(self):
        with self.assertRaisesRegex(TypeError, r"plan\(\) got .* 'atomics'. Did .* 'atomic'\?"):
            pgsluice.plan(TABLE, "loaded", server(), atomics=True)
        with self.assertRaises(pgsluice.UsageError) as caught:
            pgsluice.plan(TABLE, "loaded", server(), step="1 day")
        self.assertIn("full", str(caught.exception))
        self.assertNotIn("--", str(caught.exception))


class Verify(Inspecting):
    def test_printed_form(self):
        file = self.parquet()
        self.put(TABLE)
        found = pgsluice.verify(file, "loaded", server())
        self.assertEqual(found, self.printed(pgsluice.VerifyResult, "verify", file, "-t", "loaded"))
        text = "<VerifyResult: equal, 100 rows of data, 100 of public.loaded>"
        self.assertEqual(repr(found), text)

    def test_data_in_memory(self):
        self.put(TABLE)
        for data in (*KINDS, iter(TABLE.to_batches(max_chunksize=7)), TABLE.to_reader()):
            with self.subTest(type(data).__name__):
                found = pgsluice.verify(data, "loaded", server())
                self.assertTrue(found and found.equal)
                self.assertEqual((found.rows_input, len(found.leaves)), (100, LEAVES))

    def test_a_difference_is_no_error(self):
        self.put(TABLE)
        self.connection.execute("DELETE FROM loaded WHERE id = 7; INSERT INTO loaded VALUES (-1)")
        found = pgsluice.verify(TABLE, "loaded", server())
        self.assertFalse(found or found.equal)
        self.assertEqual((found.rows_missing, found.rows_surplus, found.rows_misplaced), (1, 1, 0))
        self.assertIn("different", repr(found))
        self.assertFalse(pgsluice.verify(TABLE, "loaded", server(), subset=True))
        self.assertTrue(pgsluice.verify(TABLE.slice(8), "loaded", server(), subset=True))

    def test_incomparable_data_is_an_error(self):
        with self.assertRaises(pgsluice.DataError) as caught:
            pgsluice.verify([*ROWS, ("x", "a")], "loaded", server())
        self.assertEqual(caught.exception.line, None)
        with self.assertRaises(pgsluice.DataError) as caught:
            pgsluice.verify(pa.table({"id": ["1", "x"]}), "loaded", server())
        self.assertEqual(caught.exception.row, 1)

        def broken():
            yield TABLE
            raise KeyError("gone")

        with self.assertRaises(pgsluice.InputError) as caught:
            pgsluice.verify(broken(), "loaded", server())
        self.assertIsInstance(caught.exception.__cause__, KeyError)


class Tree(Inspecting):
    def test_printed_form(self):
        self.put(TABLE)
        self.connection.execute("ANALYZE loaded")
        tree = pgsluice.tree("loaded", server())
        self.assertEqual(tree, self.printed(pgsluice.Tree, "tree", "-t", "loaded"))
        self.assertEqual([each.is_leaf for each in tree.tables], [False] + [True] * LEAVES)
        self.assertEqual(tree.tables[0].key, "HASH (id)")
        self.assertEqual(repr(tree), "<Tree: public.loaded, 3 leaves, 100 rows estimated>")
        self.assertEqual(len(pgsluice.tree("loaded", server(), depth=0).tables), 1)

    def test_a_table_that_is_not_there(self):
        with self.assertRaises(pgsluice.ServerError) as caught:
            pgsluice.tree("loadde", server())
        self.assertEqual(caught.exception.sqlstate, "42P01")
        self.assertIn("table=", caught.exception.hint)


class Ledger(Inspecting):
    def test_printed_form(self):
        self.put(TABLE, load_id="inspected")
        loads = pgsluice.ledger(server(), table="loaded")
        self.assertEqual([load.id for load in loads][:1], ["inspected"])
        printed = self.printed(pgsluice.LedgerEntry, "ledger", "list", "-t", "loaded")
        self.assertEqual(loads, printed)
        self.assertLessEqual(set(loads), set(pgsluice.ledger(server())))
        self.assertEqual((loads[0].rows, loads[0].sources), (100, ("<data>",)))
        text = "<LedgerEntry: 'inspected' into public.loaded, finished, 100 rows>"
        self.assertEqual(repr(loads[0]), text)
        details = pgsluice.ledger_show("inspected", server())
        self.assertEqual(
            details, self.printed(pgsluice.LedgerDetails, "ledger", "show", "inspected")
        )
        self.assertEqual(details.counts.inserted, 100)

    def test_receipts(self):
        """A load that has failed shows its progress."""
        stored = threading.Event()

        def broken():
            while not stored.is_set():
                yield pa.table({"id": range(50_000)})
            raise KeyError("gone")

        def watch(progress: pgsluice.Progress) -> None:
            if progress.rows_loaded:
                stored.set()

        with self.assertRaises(pgsluice.InputError) as caught:
            self.put(broken(), load_id="broken", progress=watch)
        details = self.details_after_the_sessions_end("broken")
        self.assertEqual(details.state, "unfinished")
        receipts = details.receipts
        self.assertEqual(sum(each.rows for each in receipts), caught.exception.rows_committed)
        printed = self.printed(pgsluice.LedgerDetails, "ledger", "show", "broken")
        self.assertEqual(details, printed)

    def details_after_the_sessions_end(self, load_id: str) -> pgsluice.LedgerDetails:
        """Return the details of a load that has failed, once the server has ended its sessions.

        The client closes its connections without waiting, so the lock is still held for a moment.
        """
        for _ in range(200):
            details = pgsluice.ledger_show(load_id, server())
            if details.state != "running":
                break
            time.sleep(0.05)
        return details

    def test_unknown_loads(self):
        self.assertEqual(pgsluice.ledger(server(), ledger="elsewhere"), ())
        with self.assertRaises(pgsluice.ServerError) as caught:
            pgsluice.ledger_show("nothing", server())
        self.assertEqual(caught.exception.hint, "List the loads with pgsluice.ledger().")


class Waits(Inspecting):
    def test_interrupted(self):
        """All wait for a lock of another session, and Ctrl-C ends the wait."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.put(TABLE, load_id="waiting")
        waits = (
            lambda: pgsluice.plan(TABLE, "loaded", server()),
            lambda: pgsluice.verify(TABLE, "loaded", server()),
            lambda: pgsluice.tree("loaded", server()),
            lambda: pgsluice.ledger(server()),
            lambda: pgsluice.ledger_show("waiting", server()),
        )
        with psycopg.connect(server()) as other:
            other.execute("LOCK TABLE loaded, pgsluice.load")
            for number, wait in enumerate(waits):
                began = time.monotonic()
                timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.subTest(number):
                    with self.assertRaises(KeyboardInterrupt):
                        wait()
                    self.assertLess(time.monotonic() - began, 4)
                timer.join()


if __name__ == "__main__":
    unittest.main()
