"""Rows that the server rejects: a writer names them, drops them, or passes them to `on_reject`."""

import asyncio
import unittest

import pgsluice
import polars as pl
import pyarrow as pa
from formats.place import server

from .place import Loads


def as_tuples(rows):
    return rows


def as_dicts(rows):
    return [{"id": key, "v": text} for key, text in rows]


def as_arrow(rows):
    return pa.table({"id": [key for key, _ in rows], "v": [text for _, text in rows]})


FORMS = (as_tuples, as_dicts, as_arrow)
# A line end in a value does not end the row.
GOOD = [(key, f'good\n"{key}"') for key in range(10)]
WAYS = ({}, {"on_conflict": "update"}, {"on_conflict": "skip", "load_id": "rejects"})


class Rejects(Loads):
    def setUp(self):
        super().setUp()
        self.make(v="text")
        self.connection.execute("DROP TABLE IF EXISTS known")
        self.connection.execute("CREATE TABLE known (v text PRIMARY KEY)")
        self.connection.execute("""
            ALTER TABLE loaded ADD PRIMARY KEY (id);
            ALTER TABLE loaded ADD CHECK (v <> 'bad')""")
        self.rejected: list[tuple] = []

    def keep(self, row, error):
        self.rejected.append((row, error))

    def found(self) -> list[tuple]:
        return self.connection.execute("SELECT id, v FROM loaded ORDER BY id").fetchall()

    def writer(self, **options) -> pgsluice.Writer:
        self.connection.execute("DELETE FROM loaded; DROP SCHEMA IF EXISTS pgsluice CASCADE")
        return pgsluice.Writer("loaded", server(), flush_seconds=None, **options)

    def test_hints_name_options_of_writers_only(self):
        self.connection.execute("""
            DROP TABLE loaded;
            CREATE TABLE loaded (id int, v text) PARTITION BY RANGE (id);
            CREATE TABLE few PARTITION OF loaded FOR VALUES FROM (0) TO (5)""")
        with (
            self.assertRaisesRegex(pgsluice.DataError, "no partition of relation") as caught,
            self.writer() as writer,
        ):
            writer.write([(7, "a")])
            writer.flush()
        self.assertNotIn("create_partitions", str(caught.exception))
        with self.assertRaisesRegex(pgsluice.DataError, "create_partitions=True"):
            pgsluice.load([(7, "a")], "loaded", server(), no_ledger=True)

    def test_each_bad_row_is_handed_over_once(self):
        bad = {3: (20, "bad"), 7: (21, "bad"), 11: (22, "bad")}
        rows = list(GOOD)
        for place, row in bad.items():
            rows.insert(place, row)
        for form in FORMS:
            for options in WAYS:
                with self.subTest(form=form.__name__, options=options):
                    self.rejected.clear()
                    position = {"position": 1} if "load_id" in options else {}
                    with self.writer(on_reject=self.keep, **options) as writer:
                        writer.write(form(rows[:5]))
                        writer.write(form(rows[5:]), **position)
                        self.assertEqual(writer.rows_waiting, len(rows))
                        receipt = writer.flush()
                        self.assertEqual(writer.rows_waiting, 0)
                        self.assertEqual(writer.flush().rows, 0)
                        if position:
                            self.assertEqual(writer.position, 1)
                            shown = pgsluice.ledger_show("rejects", server())
                            self.assertEqual(shown.counts, receipt.counts)
                    self.assertEqual(self.found(), GOOD)
                    counts = receipt.counts
                    self.assertEqual((receipt.rows, counts.inserted, counts.rejected), (13, 10, 3))
                    # COPY reads the rows in the order of the leaves.
                    found = {error.row: row for row, error in self.rejected}
                    self.assertEqual(len(self.rejected), 3)
                    for place, row in bad.items():
                        given = form([row])[0] if form is not as_arrow else form([row])
                        self.assertEqual(found[place], given)
                    for _, error in self.rejected:
                        number = error.row - 5 if error.batch else error.row
                        self.assertEqual(error.row_of_batch, number)

    def test_a_row_is_named_and_dropped(self):
        for form in FORMS:
            for options in WAYS:
                with self.subTest(form=form.__name__, options=options):
                    with self.writer(**options) as writer:
                        writer.write(form(GOOD[:5]))
                        writer.write(form([GOOD[5], (20, "bad"), *GOOD[6:], (21, "bad")]))
                        with self.assertRaises(pgsluice.DataError) as caught:
                            writer.flush()
                        self.assertEqual(caught.exception.sqlstate, "23514")
                        self.assertIn(caught.exception.row, (6, 11))
                        self.assertEqual(caught.exception.batch, 1)
                        self.assertEqual(self.found(), [])
                        self.assertEqual(writer.discard(bad_only=True), 2)
                        self.assertEqual((writer.rows_waiting, self.found()), (10, []))
                        self.assertEqual(writer.flush().rows, 10)
                    self.assertEqual(self.found(), GOOD)

    def test_values_that_do_not_fit(self):
        rows = [*GOOD[:4], ("x", "text"), *GOOD[4:]]
        for form in (as_tuples, as_dicts):
            for options in WAYS:
                self.rejected.clear()
                with self.writer(on_reject=self.keep, **options) as writer:
                    writer.write(form(rows))
                self.assertEqual(self.found(), GOOD)
                self.assertEqual([error.row for _, error in self.rejected], [4])

    def test_a_foreign_key(self):
        """The server names only the key, and the key of a later row of the flush exists."""
        self.connection.execute("ALTER TABLE loaded ADD parent bigint REFERENCES loaded")
        rows = [(1, "child", 2), (2, "parent", None), (3, "orphan", 99), (4, "bad", None)]
        for options in WAYS:
            self.rejected.clear()
            with self.writer(on_reject=self.keep, **options) as writer:
                writer.write(rows)
            self.assertEqual([key for key, _ in self.found()], [1, 2])
            self.assertEqual({row[0] for row, _ in self.rejected}, {3, 4})

    def test_errors_found_at_the_end(self):
        self.connection.execute("""
            CREATE OR REPLACE FUNCTION check_late() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.v LIKE 'late%' THEN RAISE EXCEPTION 'too late: %', NEW.v; END IF;
                    RETURN NULL;
                END $$;
            CREATE CONSTRAINT TRIGGER late AFTER INSERT ON loaded
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_late()""")
        rows = [*GOOD[:6], (20, "late 1"), *GOOD[6:], (21, "late 2")]
        with self.writer(on_reject=self.keep) as writer:
            writer.write(rows)
            self.assertEqual(writer.flush().counts.rejected, 2)
        self.assertEqual(self.found(), GOOD)

    def test_errors_without_a_bad_row(self):
        self.connection.execute("""
            CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'closed'; END $$;
            CREATE TRIGGER closed BEFORE INSERT ON loaded EXECUTE FUNCTION refuse()""")
        writer = self.writer(on_reject=self.keep)
        writer.write(GOOD)
        with self.assertRaises(pgsluice.DataError) as caught:
            writer.flush()
        self.assertEqual((caught.exception.row, self.rejected), (None, []))
        self.assertEqual(writer.discard(), 10)
        writer.close()

    def test_a_row_that_imitates_the_server(self):
        """Its text looks like a line of COPY, which could put the blame on another row."""
        self.connection.execute("""
            CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.v LIKE 'evil%' THEN
                        EXECUTE format('SELECT %L::int', NEW.v);
                    END IF;
                    RETURN NEW;
                END $$;
            CREATE TRIGGER evil BEFORE INSERT ON loaded FOR EACH ROW EXECUTE FUNCTION refuse()""")
        rows = [*GOOD[:6], (20, "evil\nCOPY loaded, line 2"), *GOOD[6:]]
        for options in WAYS[:2]:
            self.rejected.clear()
            with self.writer(on_reject=self.keep, **options) as writer:
                writer.write(rows)
            self.assertEqual(self.found(), GOOD)
            self.assertEqual([row for row, _ in self.rejected], [rows[6]])

    def test_all_rows_are_bad(self):
        for form in FORMS:
            self.rejected.clear()
            with self.writer(on_reject=self.keep, load_id="rejects") as writer:
                writer.write(form([(1, "bad"), (2, "bad")]), position=7)
                self.assertEqual(writer.flush().counts.rejected, 2)
                self.assertEqual(writer.position, 7)
                writer.write(form(GOOD))
            self.assertEqual((self.found(), len(self.rejected)), (GOOD, 2))

    def test_a_callback_that_raises(self):
        def refuse(row, error):
            self.keep(row, error)
            if len(self.rejected) == 2:
                raise KeyError

        with self.writer(on_reject=refuse) as writer:
            writer.write([(20, "bad"), *GOOD, (21, "bad")])
            with self.assertRaises(KeyError):
                writer.flush()
            self.assertEqual((self.found(), writer.rows_waiting), ([], 11))
            self.assertEqual(writer.flush().counts.rejected, 2)
        # Only the row whose callback raised comes again.
        self.assertEqual(len(self.rejected), 3)
        self.assertEqual(self.found(), GOOD)

    def test_a_later_row_of_the_key_is_bad(self):
        rows = [(1, "first"), (1, "bad"), (2, "only")]
        with self.writer(on_reject=self.keep, on_conflict="update") as writer:
            writer.write(rows)
            self.assertEqual(writer.flush().counts.rejected, 1)
        self.assertEqual(self.found(), [(1, "first"), (2, "only")])

    def test_batches_of_several_kinds_of_columns(self):
        small = pa.table({"id": pa.array([1, 2], pa.int32()), "v": ["a", "b"]})
        wide = pa.table({"id": pa.array([3, 20, 4], pa.int64()), "v": ["c", "bad", "d"]})
        with self.writer(on_reject=self.keep) as writer:
            writer.write(small)
            writer.write(wide)
        self.assertEqual([key for key, _ in self.found()], [1, 2, 3, 4])
        ((row, error),) = self.rejected
        self.assertEqual(row.to_pylist(), [{"id": 20, "v": "bad"}])
        self.assertEqual((error.row, error.batch, error.row_of_batch), (3, 1, 1))

    def test_frames(self):
        frame = pl.DataFrame({"id": [1, 20, 2], "v": ["a", "bad", "b"]})
        with self.writer(on_reject=self.keep) as writer:
            writer.write(frame)
            writer.write(frame.to_pandas().assign(id=[3, 21, 4]))
        self.assertEqual([key for key, _ in self.found()], [1, 2, 3, 4])
        self.assertEqual([len(row) for row, _ in self.rejected], [1, 1])

    def test_in_asyncio(self):
        async def main():
            options = {"flush_seconds": None, "on_reject": self.keep}
            async with pgsluice.AsyncWriter("loaded", server(), **options) as writer:
                await writer.write([*GOOD, (20, "bad")])
                self.assertEqual((await writer.flush()).counts.rejected, 1)
            async with pgsluice.AsyncWriter("loaded", server(), flush_seconds=None) as writer:
                await writer.write([(11, "good"), (20, "bad")])
                with self.assertRaises(pgsluice.DataError):
                    await writer.flush()
                self.assertEqual(await writer.discard(bad_only=True), 1)

        self.connection.execute("DELETE FROM loaded")
        asyncio.run(main())
        self.assertEqual(self.found(), [*GOOD, (11, "good")])
        self.assertEqual(len(self.rejected), 1)


if __name__ == "__main__":
    unittest.main()
