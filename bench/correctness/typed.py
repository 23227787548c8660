"""Values in NDJSON and Parquet. COPY does not read these, so each case states the expected rows."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa

from bench.correctness.case import Case, hashed, lines

NUMBERS = "INSERT INTO t VALUES (1, 9007199254740993), (2, -9223372036854775808), (3, 3)"
DIGITS = """INSERT INTO t VALUES (1, 12345678901234567890.123456789), (2, 0.10), (3, 1)"""
DOCUMENTS = """INSERT INTO t VALUES (1, '{"b": 1.0, "a": {"é": "x\\"y"}}'), (2, '{"b": 2.5}')"""
TAGS = """INSERT INTO t VALUES (1, '{x,NULL,"NULL"}'), (2, '{"a,b",""}'), (3, NULL)"""
DECIMALS = """INSERT INTO t VALUES
    (1, 1234567890123456789012345678.0123456789), (2, -0.0000000001), (3, NULL)"""
WIDE = """INSERT INTO t VALUES
    (1, 1234567890123456789012345678901234567890.123456789012345678901234567891), (2, NULL)"""
UNSIGNED = "INSERT INTO t VALUES (1, 18446744073709551615), (2, 0)"
ROUNDED = "INSERT INTO t VALUES (1, 2.675), (2, 0.5)"
WIDTHS = "INSERT INTO t VALUES (1, 7, 4294967295), (2, -7, 0)"
GAPS = "INSERT INTO t VALUES (1, 9007199254740993), (2, NULL), (3, -9007199254740993)"
NANS = "INSERT INTO t VALUES (1, 'NaN', 'NaN'), (2, NULL, NULL), (3, '-0', 0.1)"
MOMENTS = """INSERT INTO t VALUES
    (1, '2026-01-01 00:00:00.123456', '2026-01-01 00:00:00.123456+00'),
    (2, '1900-02-28 23:59:59.999999', '1900-02-28 23:59:59.999999+00')"""
NANOSECONDS = "INSERT INTO t VALUES (1, '2026-01-01 00:00:00.123456789'), (2, '2026-01-01')"
LISTS = """INSERT INTO t VALUES (1, '{a,NULL,"NULL","x\\"y"}'), (2, '{}'), (3, NULL)"""


NARROW = [Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001"), None]
BROAD = [Decimal("1234567890123456789012345678901234567890.123456789012345678901234567891"), None]


def moments() -> pa.Table:
    """Return nanoseconds that are whole microseconds, without and with a zone."""
    times = [
        datetime(2026, 1, 1, 0, 0, 0, 123456),
        datetime(1900, 2, 28, 23, 59, 59, 999999),
    ]
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "a": pa.array(times, pa.timestamp("ns")),
            "b": pa.array([each.replace(tzinfo=UTC) for each in times], pa.timestamp("ns", "UTC")),
        }
    )


def column(values: list, kind: pa.DataType, **others: pa.Array) -> pa.Table:
    """Return a table of an id, these values and other columns."""
    ids = pa.array(range(1, len(values) + 1), pa.int32())
    return pa.table({"id": ids, "a": pa.array(values, kind), **others})


CASES = [
    Case(
        "integers",
        "NDJSON: integers above 2^53",
        hashed("id bigint, number bigint"),
        "ndjson",
        lines(
            '{"id": 1, "number": 9007199254740993}',
            '{"id": 2, "number": -9223372036854775808}',
            '{"id": 3, "number": 3}',
        ),
        ("id", "number"),
        expected=NUMBERS,
    ),
    Case(
        "digits",
        "NDJSON: `numeric` with 29 digits, and trailing zeros",
        hashed("id bigint, number numeric"),
        "ndjson",
        lines(
            '{"id": 1, "number": 12345678901234567890.123456789}',
            '{"id": 2, "number": 0.10}',
            '{"id": 3, "number": 1}',
        ),
        ("id", "number"),
        expected=DIGITS,
    ),
    Case(
        "documents",
        "NDJSON: objects into `jsonb`",
        hashed("id bigint, doc jsonb"),
        "ndjson",
        lines(
            '{"id": 1, "doc": {"b": 1.0, "a": {"é": "x\\"y"}}}',
            '{"id": 2, "doc": {"b": 2.5}}',
        ),
        ("id", "doc"),
        expected=DOCUMENTS,
    ),
    Case(
        "tags",
        "NDJSON: lists with NULL into `text[]`",
        hashed("id bigint, tags text[]"),
        "ndjson",
        lines(
            '{"id": 1, "tags": ["x", null, "NULL"]}',
            '{"id": 2, "tags": ["a,b", ""]}',
            '{"id": 3, "tags": null}',
        ),
        ("id", "tags"),
        expected=TAGS,
    ),
    Case(
        "nul",
        "NDJSON: `\\u0000` in a `text` column, to be refused",
        hashed("id bigint, note text"),
        "ndjson",
        lines('{"id": 1, "note": "good"}', '{"id": 2, "note": "a\\u0000b"}'),
        ("id", "note"),
        is_refused=True,
    ),
    Case(
        "decimals",
        "Parquet: decimals of 38 digits",
        hashed("id int, a numeric"),
        "parquet",
        lambda: column(NARROW, pa.decimal128(38, 10)),
        ("id", "a"),
        expected=DECIMALS,
    ),
    Case(
        "wide",
        "Parquet: decimals of 70 digits",
        hashed("id int, a numeric"),
        "parquet",
        lambda: column(BROAD, pa.decimal256(76, 30)),
        ("id", "a"),
        expected=WIDE,
    ),
    Case(
        "unsigned",
        "Parquet: `uint64` above 2^63 into `numeric`",
        hashed("id int, a numeric"),
        "parquet",
        lambda: column([2**64 - 1, 0], pa.uint64()),
        ("id", "a"),
        expected=UNSIGNED,
    ),
    Case(
        "rounding",
        "Parquet: `double` 2.675 into `numeric(10,2)`, to be refused or rounded as COPY does",
        hashed("id int, a numeric(10,2)"),
        "parquet",
        lambda: column([2.675, 0.5], pa.float64()),
        ("id", "a"),
        expected=ROUNDED,
    ),
    Case(
        "widths",
        "Parquet: `int64` into `integer`, `uint32` into `bigint`",
        hashed("id int, a int, b bigint"),
        "parquet",
        lambda: column([7, -7], pa.int64(), b=pa.array([2**32 - 1, 0], pa.uint32())),
        ("id", "a", "b"),
        expected=WIDTHS,
    ),
    Case(
        "gaps",
        "Parquet: `int64` above 2^53, and NULL",
        hashed("id int, a bigint"),
        "parquet",
        lambda: column([9007199254740993, None, -9007199254740993], pa.int64()),
        ("id", "a"),
        expected=GAPS,
    ),
    Case(
        "nans",
        "Parquet: NaN, NULL and -0 in floating point",
        hashed("id int, a double precision, b real"),
        "parquet",
        lambda: column(
            [float("nan"), None, -0.0],
            pa.float64(),
            b=pa.array([float("nan"), None, 0.1], pa.float32()),
        ),
        ("id", "a", "b"),
        expected=NANS,
    ),
    Case(
        "moments",
        "Parquet: `timestamp[ns]` in whole microseconds",
        hashed("id int, a timestamp, b timestamptz"),
        "parquet",
        moments,
        ("id", "a", "b"),
        expected=MOMENTS,
    ),
    Case(
        "nanoseconds",
        "Parquet: `timestamp[ns]` with .123456789 s, to be refused or rounded as COPY does",
        hashed("id int, a timestamp"),
        "parquet",
        lambda: column([1767225600123456789, 1767225600000000000], pa.timestamp("ns")),
        ("id", "a"),
        expected=NANOSECONDS,
    ),
    Case(
        "lists",
        "Parquet: lists with NULL and quotes",
        hashed("id int, a text[]"),
        "parquet",
        lambda: column([["a", None, "NULL", 'x"y'], [], None], pa.list_(pa.string())),
        ("id", "a"),
        expected=LISTS,
    ),
]
