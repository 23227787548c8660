"""Rows that are routed by their values, for each possible type of a key in files."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
from psycopg import sql
from pyarrow import parquet

from .place import OnServer
from .test_packing import write_ipc

COUNT = 40
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
NAMELESS = datetime(1999, 12, 31, 23, 59, 59)
INF, NAN = float("inf"), float("nan")
FLOATS = [0.0, -0.0, NAN, INF, -INF, None]
# A type of a file, the type of the key, and the function from a row's number to its value.
KEYS = [
    (pa.int8(), "smallint", lambda n: n - 20),
    (pa.uint32(), "integer", lambda n: n * 1_000_003),
    (pa.uint64(), "bigint", lambda n: n * 10**15),
    (pa.float64(), "bigint", lambda n: n - 20),
    (pa.decimal128(38, 4), "numeric", lambda n: Decimal(n * n - 100).scaleb(-4)),
    (pa.decimal256(60, 30), "numeric(60,30)", lambda n: Decimal(n) / 1024),
    (pa.int64(), "numeric", lambda n: n * 10_000),
    (pa.float64(), "numeric", lambda n: n + 0.125 if n > 3 else [NAN, INF, -INF, None][n]),
    (pa.float64(), "double precision", lambda n: FLOATS[n] if n < 6 else n / 7),
    (pa.float32(), "real", lambda n: FLOATS[n] if n < 6 else n / 8),
    (pa.float32(), "double precision", lambda n: n / 8),
    (pa.bool_(), "boolean", lambda n: [True, False, None][n % 3]),
    (pa.string(), "text", lambda n: ["", "ž", "NULL", None, "\\N", "a\tb\\"][n % 6] and f"x{n}"),
    (pa.string_view(), "varchar(20)", lambda n: f"{'longer than twelve'[: n % 18]}{n % 3}"),
    (pa.large_string(), "char(9)", lambda n: " " * (n % 3) + "ab"[n % 2] + " " * (n % 4)),
    (pa.dictionary(pa.int8(), pa.string()), "text", lambda n: f"word {n % 7}"),
    (pa.dictionary(pa.int8(), pa.string()), "mood", lambda n: ["sad", "ok", "happy"][n % 3]),
    (pa.string(), "timestamptz", lambda n: f"2026-03-29T12:00:{n:02}+05:30"),
    (pa.string(), "uuid", lambda n: UUID(int=n**5 * 7919).hex.upper()),
    (pa.binary(), "bytea", lambda n: bytes(range(n))),
    (pa.binary(), "text", lambda n: f"ž{n}"),
    (pa.date32(), "date", lambda n: date(1969, 12, 1) + timedelta(n)),
    (pa.date64(), "timestamp", lambda n: date(1969, 12, 1) + timedelta(n)),
    (pa.time64("ns"), "time", lambda n: time(n % 24, n, 59, n * 1_000)),
    (pa.timestamp("s"), "timestamp", lambda n: NAMELESS + timedelta(seconds=n)),
    (pa.timestamp("ns"), "timestamp", lambda n: NAMELESS - timedelta(microseconds=n)),
    (pa.timestamp("us", "Asia/Tokyo"), "timestamptz", lambda n: NOON + timedelta(hours=n / 7)),
    (pa.duration("us"), "interval", lambda n: timedelta(minutes=n, microseconds=n)),
    (pa.list_(pa.int32()), "integer[]", lambda n: [*range(n % 5), None][n % 2 :]),
    (pa.uuid(), "uuid", lambda n: UUID(int=n**7 * 104_729)),
]  # fmt: skip


def array(ty: pa.DataType, values: list) -> pa.Array:
    """Return the values as an array of the type."""
    if isinstance(ty, pa.UuidType):
        return ty.wrap_array(pa.array([value.bytes for value in values], pa.binary(16)))
    if pa.types.is_dictionary(ty):
        return pa.array(values, ty.value_type).dictionary_encode().cast(ty)
    return pa.array(values, ty)


class Keys(OnServer):
    def test_rows_are_in_the_leaves_that_copy_finds(self):
        for ty, postgres, of in KEYS:
            values = [of(n) for n in range(COUNT)]
            columns = sql.SQL(f"id bigint, key {postgres}, more text")
            self.make_by(columns, "key")
            ids = [*range(COUNT)]
            rows = pa.table({"more": ["x"] * COUNT, "key": array(ty, values), "id": ids})
            parquet.write_table(rows, self.folder / "rows.parquet")
            write_ipc(self.folder / "rows.arrow", rows.to_batches(), rows.schema)
            self.copy(zip(ids, values, ["x"] * COUNT, strict=True))
            expected = self.rows("copied")
            self.assertGreater(len({leaf for leaf, _ in expected}), 1)
            ways = [("rows.parquet", []), ("rows.arrow", ["--wire", "text"])]
            for file, options in ways:
                with self.subTest(type=str(ty), key=postgres, file=file):
                    self.empty("loaded")
                    self.load_whole(file, options=options)
                    self.assertEqual(self.rows("loaded"), expected)
