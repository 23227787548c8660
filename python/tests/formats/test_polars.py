"""Each type that polars writes: in Parquet, in both forms of Arrow IPC, and in NDJSON."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl

from .matrix import Line, Matrix

INF, NAN = float("inf"), float("nan")
DAY = datetime(2026, 3, 29, 2, 30, 15)
MICROS = [DAY.replace(microsecond=1), datetime(1969, 12, 31, 23, 59, 59, 999_999), None]
ZONED = ["2026-03-29 02:30:15.000001+00", "1969-12-31 23:59:59.999999+00", None]
PAIR = pl.Struct({"b": pl.String, "a": pl.Int32})
MOOD = ["happy", "sad", None, "sad"]

ALL = [
    Line(pl.Int8, "smallint|integer|text", [-128, 127, None]),
    Line(pl.Int16, "smallint|bigint", [-(2**15), 2**15 - 1]),
    Line(pl.Int32, "integer|numeric", [-(2**31), 2**31 - 1, None]),
    Line(pl.Int64, "bigint|numeric", [-(2**63), 2**63 - 1, None]),
    Line(pl.UInt8, "smallint", [0, 255]),
    Line(pl.UInt16, "integer", [0, 2**16 - 1, None]),
    Line(pl.UInt32, "bigint|oid", [0, 2**32 - 1]),
    Line(pl.UInt64, "numeric|text", [0, 2**64 - 1, None]),
    Line(pl.Float16, "real|double precision", [1.5, -0.25, None]),
    Line(pl.Float32, "real", [0.1, -1.5, 3.4028235e38, None]),
    Line(pl.Float64, "double precision|numeric", [0.1, 1e300, 5e-324, None]),
    Line(
        pl.Decimal(10, 2),
        "numeric(10,2)|numeric|text",
        [Decimal("1.50"), Decimal("-99999999.99"), None],
    ),
    Line(
        pl.Decimal(38, 10),
        "numeric(38,10)",
        [Decimal("9" * 28 + ".0123456789"), Decimal("0.0000000001")],
    ),
    Line(pl.Boolean, "boolean|text", [True, False, None], ["true", "false", None]),
    Line(pl.String, "text|varchar", ["a", "", "žluťoučký 🐘", "longer than twelve bytes", None]),
    Line(pl.String, "text", ["a\tb\nc\r\\d", '"q",\'', "NULL", "\\N"]),
    Line(pl.Date, "date", [date(2026, 11, 24), date(1, 1, 1), date(9999, 12, 31), None]),
    Line(pl.Time, "time", [time(23, 59, 59, 999_999), time(0), None]),
    Line(pl.Datetime("ms"), "timestamp|timestamp(3)", [DAY, None]),
    Line(pl.Datetime("us"), "timestamp", MICROS),
    Line(pl.Datetime("ns"), "timestamp", MICROS),
    Line(pl.Datetime("ms", "UTC"), "timestamptz", [DAY], ["2026-03-29 02:30:15+00"]),
    Line(pl.Datetime("us", "Asia/Kathmandu"), "timestamptz", MICROS, ZONED),
    Line(pl.Datetime("ns", "America/New_York"), "timestamptz", MICROS, ZONED),
    Line(pl.Duration("ms"), "interval", [timedelta(milliseconds=1), None]),
    Line(pl.Duration("us"), "interval", [timedelta(1, 2, 3)], ["24:00:02.000003"]),
    Line(pl.Duration("ns"), "interval", [timedelta(0, 1), timedelta(0)], ["00:00:01", "0"]),
    Line(pl.Categorical, "text|mood", MOOD),
    Line(pl.Enum(["sad", "ok", "happy"]), "text|mood", MOOD),
    Line(pl.List(pl.Int32), "integer[]|bigint[]", [[1, None], [], None, [-3]]),
    Line(pl.List(pl.String), "text[]", [["a,b", "", None, "NULL", "\\"], None]),
    Line(pl.List(pl.List(pl.Int8)), "smallint[]", [[[1], [None]], []]),
    Line(pl.Array(pl.Float64, 2), "double precision[]", [[0.5, None], None]),
    Line(pl.Array(pl.Int32, (2, 2)), "integer[]", [[[1, 2], [3, 4]]]),
    Line(pl.List(PAIR), "pair[]", [[{"a": 1, "b": "x"}]], ['{"(1,x)"}']),
    Line(PAIR, "pair", [{"a": 1, "b": "x y"}, {"a": None, "b": ""}], ["(1,x y)", '(,"")']),
    Line(PAIR, "jsonb", [{"a": 1, "b": 'é"'}], ['{"a": 1, "b": "é\\""}']),
    Line(pl.List(pl.Enum(["sad", "ok", "happy"])), "mood[]|text[]", [MOOD, None]),
    Line(pl.List(pl.Categorical), "text[]", [MOOD, [], None]),
    Line(pl.List(pl.Date), "date[]", [[date(2026, 1, 2), None]]),
    Line(pl.List(pl.Datetime("us", "Asia/Tokyo")), "timestamptz[]", [MICROS], [ZONED]),
    Line(pl.List(pl.Decimal(9, 2)), "numeric[]", [[Decimal("1.50"), None]]),
    Line(pl.Struct({"p": PAIR, "m": pl.Enum(["x"])}), "jsonb", [{"p": {"b": "", "a": 1}, "m": "x"}],
         ['{"m": "x", "p": {"a": 1, "b": ""}}']),
    Line(pl.Null, "text|integer|jsonb", [None]),
]  # fmt: skip
# JSON has no such numbers. polars writes no bytes there, a struct of NULLs for NULL, times in RFC
# 3339, and `-PT1S`, which the server does not read.
NOT_JSON = [
    Line(pl.Duration("us"), "interval", [timedelta(0, -1), None], ["-00:00:01", None]),
    Line(pl.Float32, "real|double precision|numeric", [NAN, INF, -INF]),
    Line(pl.Float64, "double precision|numeric", [NAN, INF, -INF]),
    Line(pl.Float64, "double precision", [-0.0]),
    Line(pl.Binary, "bytea", [b"\x00\xff", b"", b"\\longer than twelve bytes", None]),
    Line(PAIR, "pair|jsonb", [None]),
    Line(pl.Datetime("us"), "text", MICROS),
]
# Neither Parquet nor Arrow has integers of 128 bits.
ONLY_JSON = [
    Line(pl.Int128, "numeric", [2**127 - 1, -(2**127), None]),
    Line(pl.UInt128, "numeric|text", [2**128 - 1, None]),
]


def frame(ids: Sequence[int], lines: dict[str, Line]) -> pl.DataFrame:
    """Return a data frame with a column for each line."""
    columns = {name: pl.Series(line.values, dtype=line.type) for name, line in lines.items()}
    return pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int64), **columns})


def write(file: Path, ids: Sequence[int], lines: dict[str, Line]) -> None:
    """Write the format of the file's name."""
    writers = {
        ".parquet": pl.DataFrame.write_parquet,
        ".arrow": pl.DataFrame.write_ipc,
        ".arrows": pl.DataFrame.write_ipc_stream,
        ".ndjson": pl.DataFrame.write_ndjson,
    }
    writers[file.suffix](frame(ids, lines), file)


def write_old(file: Path, ids: Sequence[int], lines: dict[str, Line]) -> None:
    """Write Arrow without string views, for older readers."""
    frame(ids, lines).write_ipc(file, compat_level=pl.CompatLevel.oldest())


BINARY = ["--wire", "binary"]


class Types(Matrix):
    def test_parquet(self):
        self.assert_lines(ALL + NOT_JSON, write, "rows.parquet", BINARY)

    def test_arrow(self):
        self.assert_lines(ALL + NOT_JSON, write, "rows.arrow", BINARY)

    def test_stream(self):
        self.assert_lines(ALL + NOT_JSON, write, "rows.arrows", BINARY)

    def test_arrow_for_older_readers(self):
        self.assert_lines(ALL + NOT_JSON, write_old, "rows.arrow", BINARY)

    def test_ndjson(self):
        self.assert_lines(ALL + ONLY_JSON, write, "rows.ndjson")
