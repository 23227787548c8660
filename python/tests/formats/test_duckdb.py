"""Each type that DuckDB writes: in Parquet and NDJSON by COPY, and as Arrow."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
from pyarrow import ipc

from .matrix import Line, Matrix
from .place import OnServer

INTERVALS = ["1 year 2 days 00:00:03.5", "14 mons", "36:00:00", None]
DAY, MICROS = "2026-03-29 02:30:15", "2026-03-29 02:30:15.000001"
POINT = "0101000000000000000000f03f0000000000000040"

# DuckDB's types, and values that it reads.
ALL = [
    Line("TINYINT", "smallint|integer|text", ["-128", "127", None]),
    Line("SMALLINT", "smallint|bigint", ["-32768", "32767", None]),
    Line("INTEGER", "integer|numeric", ["-2147483648", "2147483647", None]),
    Line("BIGINT", "bigint|numeric|text", ["-9223372036854775808", "9223372036854775807"]),
    Line("UTINYINT", "smallint", ["0", "255"]),
    Line("USMALLINT", "integer", ["0", "65535", None]),
    Line("UINTEGER", "bigint|oid", ["0", "4294967295", None]),
    Line("UBIGINT", "numeric|text", ["0", "18446744073709551615", None]),
    Line("DECIMAL(4,1)", "numeric(4,1)", ["999.9", "-0.1", None]),
    Line("DECIMAL(9,3)", "numeric(9,3)", ["999999.999", "-0.001", "0", None]),
    Line("DECIMAL(18,6)", "numeric(18,6)|numeric", ["999999999999.999999", "-0.000001"]),
    Line("DECIMAL(38,10)", "numeric(38,10)|numeric", ["9999999999999999999999999999.9999999999"]),
    Line("DECIMAL(38,0)", "numeric|numeric(38)", ["99999999999999999999999999999999999999", "-1"]),
    Line("FLOAT", "real|double precision", ["1.5", "-0.25", None]),
    Line("DOUBLE", "double precision", ["0.1", "-0.0", "1e300", "5e-324", None]),
    Line("BOOLEAN", "boolean|text", ["true", "false", None]),
    Line("VARCHAR", "text|varchar(20)", ["a", "", "žluťoučký 🐘", "a\tb\n\\N", "NULL", None]),
    Line("DATE", "date", ["2026-11-24", "0001-01-01", "9999-12-31", None]),
    Line("TIME", "time|text", ["12:34:56.789012", "00:00:00", None]),
    Line("TIME_NS", "time", ["12:34:56.789012", None]),
    Line("TIMESTAMP_S", "timestamp", [DAY, None]),
    Line("TIMESTAMP_MS", "timestamp|timestamp(3)", [f"{DAY}.001", None]),
    Line("TIMESTAMP", "timestamp", [MICROS, None]),
    Line("TIMESTAMP_NS", "timestamp", [MICROS, None]),
    Line("TIMESTAMPTZ", "timestamptz", [f"{MICROS}+02", None]),
    Line("TIMESTAMPTZ_NS", "timestamptz", [f"{MICROS}+02", None]),
    Line("ENUM ('sad', 'ok', 'happy')", "mood|text", ["happy", "sad", None]),
    Line("INTEGER[]", "integer[]|bigint[]", ["[1, NULL]", "[]", None], ["{1,NULL}", "{}", None]),
    Line("INTEGER[2]", "integer[]", ["[1, 2]", None], ["{1,2}", None]),
    Line("INTEGER[2][]", "jsonb", ["[[1, NULL], NULL]"], ["[[1, null], null]"]),
    Line("INTEGER[][]", "integer[]", ["[[1], [2]]", None], ["{{1},{2}}", None]),
    Line("VARCHAR[]", "text[]", ["['a,b', '', NULL]"], ['{"a,b","",NULL}']),
    Line("ENUM ('sad', 'ok', 'happy')[]", "mood[]", ["['ok', NULL]"], ["{ok,NULL}"]),
    Line("DECIMAL(9,2)[]", "numeric[]", ["[1.25, NULL]"], ["{1.25,NULL}"]),
    Line("TIMESTAMPTZ[]", "timestamptz[]", ["['2026-01-01 00:00:00Z']"], ["{2026-01-01 00:00Z}"]),
    Line("STRUCT(p STRUCT(a INTEGER, b VARCHAR), many INTEGER[], \"at\" TIMESTAMPTZ)", "nested",
         ["{'p': {'a': 1, 'b': 'x'}, 'many': [1, NULL], 'at': '2026-01-01 00:00:00Z'}"],
         ['("(1,x)","{1,NULL}","2026-01-01 00:00Z")']),
    Line("MAP(VARCHAR, STRUCT(a INTEGER))", "jsonb", ["MAP {'k': {'a': 1}}"], ['{"k": {"a": 1}}']),
    Line("UUID[]", "uuid[]", ["['00000000-0000-0000-0000-000000000001', NULL]"],
         ["{00000000-0000-0000-0000-000000000001,NULL}"]),
    Line("STRUCT(b VARCHAR, a INTEGER)", "pair", ["{'b': 'x y', 'a': 1}", None], ["(1,x y)", None]),
    Line("STRUCT(a INTEGER, b VARCHAR)", "jsonb", ["{'a': NULL, 'b': 'x'}"],
         ['{"a": null, "b": "x"}']),
    Line("STRUCT(a INTEGER, b VARCHAR)[]", "pair[]", ["[{'a': 1, 'b': 'x'}]"], ['{"(1,x)"}']),
    Line("MAP(VARCHAR, INTEGER)", "jsonb", ["MAP {'k': 1, 'n': NULL}", "MAP {}", None],
         ['{"k": 1, "n": null}', "{}", None]),
    Line("UUID", "uuid", ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", None]),
    Line("JSON", "jsonb|json", ['{"a":[1,null]}', '"x"', None]),
]  # fmt: skip
# Not all versions write these natively into Parquet and Arrow. JSON cannot represent bytes or
# infinite numbers, and Parquet has no integers of 128 bits.
NOT_JSON = [
    Line("BLOB", "bytea", ["\\x00\\xFFabc", "", None], ["\\x00ff616263", "", None]),
    Line("FLOAT", "real", ["NaN", "Infinity", "-Infinity"]),
    Line("DOUBLE", "double precision|numeric", ["NaN", "Infinity", "-Infinity"]),
    Line("GEOMETRY", "bytea", ["POINT(1 2)", None], [f"\\x{POINT}", None]),
    Line("VARCHAR", "jsonb", ['{"a": [1, null]}', "1"]),
]
NOT_PARQUET = [
    Line("INTERVAL", "interval", INTERVALS),
    Line("HUGEINT", "numeric|text", ["99999999999999999999999999999999999999", "-1", None]),
    Line("HUGEINT", "numeric", ["-170141183460469231731687303715884105728"]),
    Line("UHUGEINT", "numeric", ["99999999999999999999999999999999999999", "0", None]),
]
# Here times have no zone, and bits are in DuckDB's internal form.
NOT_ARROW = [
    Line("BIT", "bit varying|bit(4)|text", ["0101", "1111"]),
    Line("BIGNUM", "numeric|text", ["12345678901234567890123456789012345678901234567890", "-1"]),
]
ONLY_PARQUET = [
    # DuckDB converts them to doubles.
    Line("HUGEINT", "double precision|numeric", ["-170141183460469231731687303715884105728"],
         ["-1.7014118346046923e38"]),
    Line("UNION(a INTEGER, b VARCHAR)", "jsonb", ["x"],
         ['{"element1": 1, "a": null, "b": "x"}']),
]  # fmt: skip
ONLY_JSON = [
    Line("TIMETZ", "timetz", ["12:34:56+00", "23:00:00+00", None]),
    Line("DATE", "date|timestamp", ["infinity", "-infinity"]),
    Line("UHUGEINT", "numeric|text", ["340282366920938463463374607431768211455", None]),
    Line("UNION(a INTEGER, b VARCHAR)", "jsonb", ["x"], ['{"b": "x"}']),
    Line("TIMESTAMPTZ", "text", [f"{MICROS}+00"]),
    Line("VARIANT", "jsonb", ["x", None], ['"x"', None]),
]


def select(ids: Sequence[int], lines: dict[str, Line]) -> str:
    """Return a query for the rows, with each value cast from DuckDB's text."""

    def cast(value: str | None, line: Line) -> str:
        if value is None:
            return f"NULL::{line.type}"
        is_written_out = line.type.startswith(("STRUCT", "MAP")) or line.type.endswith("]")
        text = value if is_written_out else "'" + value.replace("'", "''") + "'"
        return f"{text}::{line.type}"

    rows = [
        ", ".join([str(row), *[cast(line.values[row - ids[0]], line) for line in lines.values()]])
        for row in ids
    ]
    names = ", ".join(f'"{name}"' for name in ["id", *lines])
    values = ", ".join(f"({row})" for row in rows)
    return f"SELECT * FROM (VALUES {values}) AS rows ({names})"


def connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
    return connection


def copy_to(file: Path, ids: Sequence[int], lines: dict[str, Line]) -> None:
    """Write the format of the file's name."""
    with connect() as connection:
        connection.execute(f"COPY ({select(ids, lines)}) TO '{file}'")


def write_arrow(file: Path, ids: Sequence[int], lines: dict[str, Line]) -> None:
    with connect() as connection:
        rows = connection.sql(select(ids, lines)).to_arrow_table()
    with ipc.new_file(file, rows.schema) as writer:
        writer.write(rows)


BINARY = ["--wire", "binary"]


class Types(Matrix):
    def test_parquet(self):
        self.assert_lines(
            ALL + NOT_JSON + NOT_ARROW + ONLY_PARQUET, copy_to, "rows.parquet", BINARY
        )

    def test_intervals_of_parquet_lose_no_months(self):
        """DuckDB would read only days and time, so they are rejected."""
        self.make(v="interval")
        with connect() as connection:
            connection.execute(
                f"COPY (SELECT 1 AS id, INTERVAL '1 year' AS v) TO '{self.folder}/rows.parquet'"
            )
        done = self.run_program("load", "rows.parquet", "-t", "loaded", *self.quick)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('"v" in rows.parquet is a Parquet INTERVAL', done.stderr)

    def test_arrow(self):
        self.assert_lines(ALL + NOT_JSON + NOT_PARQUET, write_arrow, "rows.arrow", BINARY)

    def test_ndjson(self):
        self.assert_lines(ALL + NOT_PARQUET + NOT_ARROW + ONLY_JSON, copy_to, "rows.json")


# The same rows in three forms: a query of DuckDB, and its columns.
QUERY = """SELECT n AS id, (n * 7 % 50)::SMALLINT AS small, n / 8 AS share,
    (n * 1.01)::DECIMAL(12,3) AS amount, n % 2 = 0 AS even,
    CASE WHEN n % 5 > 0 THEN 'word "' || n || '", \\' END AS word,
    DATE '2026-01-01' + n::INTEGER AS day,
    TIMESTAMP '2026-01-01 00:00:00' + INTERVAL (n * 1001) MILLISECOND AS at,
    TIMESTAMPTZ '2026-01-01 00:00:00Z' + INTERVAL (n) HOUR AS zoned,
    TIME '00:00:00' + INTERVAL (n) MINUTE AS clock, md5(n::VARCHAR)::UUID AS key,
    (n::HUGEINT * 1e18::HUGEINT)::DECIMAL(38,0) AS huge, ['sad', 'ok', 'happy'][1 + n % 3] AS feels
    FROM range(1000) AS numbers (n)"""
SAME = {
    "small": "smallint",
    "share": "double precision",
    "amount": "numeric(12,3)",
    "even": "boolean",
    "word": "text",
    "day": "date",
    "at": "timestamp",
    "zoned": "timestamptz",
    "clock": "time",
    "key": "uuid",
    "huge": "numeric",
    "feels": "mood",
}


class Same(OnServer):
    def test_csv_parquet_and_ndjson_are_the_same_rows(self):
        self.make(**SAME)
        with connect() as connection:
            for name in ("rows.csv", "rows.parquet", "rows.json"):
                connection.execute(f"COPY ({QUERY}) TO '{self.folder / name}'")
        with self.connection.cursor().copy("COPY copied FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((self.folder / "rows.csv").read_bytes())
        for name, options in (
            ("rows.csv", ["--header"]),
            ("rows.parquet", []),
            ("rows.parquet", ["--wire", "text"]),
            ("rows.json", []),
        ):
            with self.subTest(file=name, options=options):
                self.empty("loaded")
                self.load_whole(name, options=options)
                self.assertTrue(self.rows("loaded") == self.rows("copied"))
