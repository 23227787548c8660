"""Values that their columns cannot hold: rejected by name, or kept, repaired and loaded again."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from .place import OnServer
from .test_packing import write_ipc


class Unfit(NamedTuple):
    """A type of a file and a type of PostgreSQL; a good value, a bad one, and the reason.

    `read` is the good value as COPY writes it, if the spelling differs.
    """

    type: pa.DataType
    postgres: str
    good: object
    bad: object
    message: str
    read: object = None


NAN, INF = float("nan"), float("inf")
PAIR = pa.struct({"a": pa.int64(), "b": pa.string()})
DAY = 86_400_000_000
UNFIT = [
    Unfit(pa.uint64(), "bigint", 2**63 - 1, 2**63,
          "9223372036854775808 is out of range for bigint"),
    Unfit(pa.int64(), "integer", -(2**31), 2**31, "2147483648 is out of range for integer"),
    Unfit(pa.int32(), "smallint", 2**15 - 1, -(2**15) - 1, "-32769 is out of range for smallint"),
    Unfit(pa.int64(), "oid", 0, -1, "-1 is out of range for oid"),
    Unfit(pa.float64(), "integer", 7.0, 1.5, "1.5 is not an integer", 7),
    Unfit(pa.float64(), "bigint", -7.0, NAN, "NaN is not an integer", -7),
    Unfit(pa.float32(), "smallint", 0.0, INF, "Infinity is not an integer", 0),
    Unfit(pa.float64(), "real", 0.1, 1e39, "1e+39 is out of range for real"),
    Unfit(pa.float64(), "real", -0.0, 1e-50, "1e-50 is out of range for real"),
    Unfit(pa.int64(), "double precision", 2**53, 2**53 + 1,
          "cannot be represented exactly in double precision"),
    Unfit(pa.decimal128(9, 3), "numeric(8,2)", Decimal("1.230"), Decimal("1.234"), "scale of 2"),
    Unfit(pa.decimal128(9, 2), "integer", Decimal("1.00"), Decimal("1.01"),
          "1.01 is not an integer", 1),
    Unfit(pa.decimal128(9, 0), "numeric(3)", Decimal(999), Decimal(1000), "numeric field overflow"),
    Unfit(pa.float64(), "numeric(5,2)", 1.25, 1.125, "1.125 has more digits than the column"),
    Unfit(pa.timestamp("ns"), "timestamp", 1_000, 1_001, "has nanoseconds, which timestamp cannot",
          "1970-01-01 00:00:00.000001"),
    Unfit(pa.timestamp("ns", "UTC"), "timestamptz", -1_000, -1, "has nanoseconds",
          "1969-12-31 23:59:59.999999Z"),
    Unfit(pa.timestamp("us"), "timestamp(3)", 1_000, 1, "has more digits than timestamp(3)",
          "1970-01-01 00:00:00.001"),
    Unfit(pa.timestamp("us"), "timestamp", 0, -(2**62),
          "is out of range for timestamp", "1970-01-01"),
    Unfit(pa.timestamp("us"), "date", DAY, DAY + 1, "has a time, which date cannot hold",
          "1970-01-02"),
    Unfit(pa.date32(), "date", 0, 2**31 - 1, "is out of range for date", "1970-01-01"),
    Unfit(pa.time64("ns"), "time", 1_000, 1, "1 ns has nanoseconds, which time cannot hold",
          "00:00:00.000001"),
    Unfit(pa.duration("ns"), "interval", 1_000, 1,
          "1 ns has nanoseconds, which interval cannot hold", "00:00:00.000001"),
    Unfit(pa.duration("s"), "interval", 60, 2**62, "is out of range for interval", "00:01"),
    Unfit(pa.string(), "varchar(3)", "abc", "abcd", "value too long for type character varying(3)"),
    Unfit(pa.string(), "text", "a\tb", "a\0b", "has a zero byte"),
    Unfit(pa.string(), "integer", " 7 ", "7x", 'invalid input syntax for type integer: "7x"', 7),
    Unfit(pa.string(), "mood", "ok", "glad", 'invalid input value for enum mood: "glad"'),
    Unfit(pa.string(), "uuid", "0" * 32, "x", 'invalid input syntax for type uuid: "x"'),
    Unfit(pa.string(), "jsonb", "[1]", "[1", "invalid input syntax for type json"),
    Unfit(pa.dictionary(pa.int8(), pa.string()), "date", "2026-01-01", "2026-02-30",
          'date/time field value out of range: "2026-02-30"'),
    Unfit(pa.binary(), "text", b"a", b"\xff", "is not valid UTF-8", "a"),
    Unfit(pa.list_(pa.list_(pa.int32())), "integer[]", [[1], [2]], [[1], [2, 3]],
          "has lists of different lengths"),
    Unfit(pa.list_(pa.list_(pa.int32())), "integer[]", [[1]], [[1], None], "has NULL in place"),
    Unfit(pa.list_(pa.int64()), "integer[]", [1, None], [2**31], "2147483648 is out of range"),
    Unfit(PAIR, "pair", {"a": 1, "b": "x"}, {"a": 2**31, "b": "x"}, "out of range for integer",
          "(1,x)"),
    Unfit(pa.float64(), "jsonb", 1.5, NAN, "is not a finite number"),
    Unfit(pa.map_(pa.string(), pa.int32()), "jsonb", [("a", 1)], [("a", 1), ("a", 2)],
          'has the key "a" twice', '{"a": 1}'),
    Unfit(pa.int32(), "integer NOT NULL", 1, None, "violates not-null constraint"),
    Unfit(pa.int32(), "integer CHECK (positive > 0)", 1, 0, "violates check constraint"),
]  # fmt: skip


def name(n: int, unfit: Unfit) -> str:
    return "positive" if "positive" in unfit.postgres else f"{n} {unfit.postgres.split()[0]}"


def array(unfit: Unfit, values: Sequence) -> pa.Array:
    if pa.types.is_dictionary(unfit.type):
        return pa.array(values).dictionary_encode()
    return pa.array(values, unfit.type)


class Values(OnServer):
    def test_each_is_refused_with_the_name_of_its_column(self):
        for n, unfit in enumerate(UNFIT):
            with self.subTest(type=str(unfit.type), onto=unfit.postgres, bad=unfit.bad):
                column = name(n, unfit)
                self.make(**{column: unfit.postgres})
                values = array(unfit, [unfit.good, unfit.bad, unfit.good])
                write(self.folder / "rows.arrow", {column: values})
                # The server names a row without a leaf or with a duplicate key without a column.
                words = [] if "constraint" in unfit.message else [column]
                self.refuse("rows.arrow", message=["rows.arrow:2", unfit.message, *words])

    def test_they_are_kept_and_loaded_again_when_they_are_repaired(self):
        """Each row but the last has one bad value, each in another column."""
        names = [name(n, unfit) for n, unfit in enumerate(UNFIT)]
        count = len(UNFIT)
        columns = {
            column: array(unfit, [unfit.good] * n + [unfit.bad] + [unfit.good] * (count - n))
            for n, (column, unfit) in enumerate(zip(names, UNFIT, strict=True))
        }
        for file in ("rows.parquet", "rows.arrow"):
            for wire in ("binary", "text"):
                with self.subTest(file=file, wire=wire):
                    self.make(**{c: u.postgres for c, u in zip(names, UNFIT, strict=True)})
                    write(self.folder / file, columns)
                    for kept in self.folder.glob("bad.ndjson*"):
                        kept.unlink()
                    self.assert_repaired(file, names, ["--wire", wire])

    def assert_repaired(self, file: str, names: list[str], options: list[str]) -> None:
        good = [unfit.good if unfit.read is None else unfit.read for unfit in UNFIT]
        count = len(UNFIT)
        rejected = zip(*self.reject(file, options=options), strict=True)
        rejected = sorted(rejected, key=lambda each: int(each[0]["id"]))
        self.assertEqual([int(row["id"]) for row, _ in rejected], [*range(count)])
        for (_, reason), column, unfit in zip(rejected, names, UNFIT, strict=True):
            self.assertEqual(reason["source"], file)
            self.assertIn(unfit.message, reason["message"])
            if "constraint" not in unfit.message:
                self.assertIn(column, f"{reason['column']} {reason['message']}")
        # Each bad value is replaced by the good one of another row.
        repaired = [
            json.dumps(row | {column: rejected[n - 1][0][column]})
            for n, ((row, _), column) in enumerate(zip(rejected, names, strict=True))
        ]
        (self.folder / "repaired.ndjson").write_text("\n".join(repaired))
        self.load_whole("repaired.ndjson")
        self.copy([(row, *good) for row in range(count + 1)])
        self.assert_same()


def write(file: Path, columns: dict[str, pa.Array]) -> None:
    """Write Parquet or Arrow, depending on the name, with ids from 0."""
    count = len(next(iter(columns.values())))
    rows = pa.table({"id": pa.array(range(count), pa.int64()), **columns})
    if file.suffix == ".parquet":
        parquet.write_table(rows, file)
    else:
        write_ipc(file, rows.to_batches(), rows.schema)
