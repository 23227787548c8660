"""Python values with more digits than their columns: rounded with `round=True`."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pgsluice
import pyarrow as pa
from formats.place import server
from psycopg import sql

from .place import Loads

NANOS = (0, 1, 499, 500, 501, 1_500, 2_500, 999_999_499, 999_999_500, 999_999_999, -1, -500, -501)
# The last one is half a second before 2000.
TIMES = [np.datetime64(nanos, "ns") for nanos in (*NANOS, 946_684_799_500_000_000)]
FLOATS = [0.005, -0.005, 1.005, 2.675, -2.5, 0.125, 1e-7, 0.30000000000000004, 5e-324, -0.0]
# A column's type, and values.
CASES = [
    ("numeric(10,2)", FLOATS),
    ("numeric(10,2)", [Decimal("0.005"), Decimal("-0.0049999"), Decimal("1E-9")]),
    ("real", [2**24 + 1, 2**63 - 1, 0.1]),
    ("double precision", [2**53 + 1, -(2**53) - 1]),
    *((f"timestamp({digits})", TIMES) for digits in range(7)),
    ("timestamp(0)", [pd.Timestamp(nanos) for nanos in NANOS]),
    ("timestamptz(3)", [pd.Timestamp(nanos, tz="UTC") for nanos in NANOS]),
]


def text(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


class Rounded(Loads):
    def assert_rounded(self, data: object, values: Sequence[object]) -> None:
        self.empty("loaded", "copied")
        self.copy((number, text(value)) for number, value in enumerate(values))
        result = self.put(data, round=True, no_ledger=True)
        self.assertEqual(result.rows_inserted, len(values))
        self.assert_same()

    def test_rows_and_frames_as_values_and_as_keys(self):
        for column, values in CASES:
            for key in ("id", "v"):
                with self.subTest(column=column, value=values[0], key=key):
                    self.make_by(sql.SQL(f"id int, v {column}"), key)
                    rows = list(enumerate(values))
                    self.assert_rounded(rows, values)
                    self.assert_rounded([{"id": n, "v": value} for n, value in rows], values)
                    # pandas would choose one type for numbers and None.
                    frame = pd.DataFrame({"id": range(len(values)), "v": values})
                    self.assert_rounded(frame, values)

    def test_all_functions_take_it(self):
        self.make(v="numeric(10,2)")
        rows = pa.table({"id": [1, 2], "v": [0.125, 0.30000000000000004]})
        self.assertTrue(pgsluice.plan(rows, "loaded", server(), round=True))
        asyncio.run(pgsluice.aload(rows, "loaded", server(), round=True))
        found = self.connection.execute("SELECT v FROM loaded ORDER BY id").fetchall()
        self.assertEqual(found, [(Decimal("0.13"),), (Decimal("0.30"),)])
        self.assertTrue(pgsluice.verify(rows, "loaded", server(), round=True).equal)
        with pgsluice.Writer("loaded", server(), round=True) as writer:
            writer.write(rows)
        self.assertEqual(self.count(), 4)
        self.make_by(sql.SQL("id int, v numeric(10,2)"), "v")
        leaves = pgsluice.leaf("loaded", rows, server(), round=True).to_pylist()
        self.put(rows, round=True)
        query = "SELECT tableoid::regclass::text FROM loaded ORDER BY id"
        found = [name for (name,) in self.connection.execute(query)]
        self.assertEqual([leaf.rsplit(".")[-1] for leaf in leaves], found)

    def test_the_hint_names_it_first(self):
        self.make(v="timestamp")
        nanos = np.datetime64(1, "ns")
        frame = pd.DataFrame({"id": [1], "v": [nanos]})
        for data in (frame, [(1, nanos)], [{"id": 1, "v": nanos}]):
            with self.subTest(data=type(data)):
                error = self.fail_to_put(data)
                self.assertIsInstance(error, pgsluice.DataError)
                first, *others = (error.hint or "").splitlines()
                self.assertEqual(first, "To round such values: round=True")
                self.assertIn("reject_file=", "".join(others))
                self.assertEqual(self.put(data, round=True).rows_inserted, 1)
                self.empty("loaded")
        self.make(v="interval")
        self.put([(1, timedelta(microseconds=1))], round=True)
        self.make(v="integer")
        self.assertNotIn("round", self.fail_to_put(pa.table({"id": [1], "v": [1.5]})).hint or "")
