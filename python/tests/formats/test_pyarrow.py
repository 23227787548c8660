"""Each type that pyarrow writes, in Parquet and Arrow IPC, into the types that hold its values."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
from pyarrow import ipc, parquet

from .matrix import Line, Matrix

INF, NAN = float("inf"), float("nan")
MOST = 2**63 - 1
WORDS = ["a", "", None, "NULL", "\\N", "a\tb\nc\r\\d", '"q",\'', "žluťoučký 🐘", "{1,2}"]
BYTES = [b"abcd", b"\x00\xff\\x", None, b"'\"\n\t"]
DATES = [date(2026, 11, 24), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31), None]
WHOLE = datetime(2026, 3, 29, 2, 30, 15)
TIMES = [WHOLE, datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59), None]
NEAR = [WHOLE.replace(microsecond=1), datetime(1969, 12, 31, 23, 59, 59, 999_999), None]
ZONED = [
    "2026-03-29 02:30:15.000001+00",
    "1969-12-31 23:59:59.999999+00",
    None,
]
ALL = "smallint|integer|bigint|numeric|real|double precision|text"
WIDE = "bigint|numeric|double precision|text"
HUGE = Decimal("123456789012345678901234567890123456.78")
HUGER = Decimal("9" * 70 + ".123456")
MOOD = ["happy", "sad", None, "sad"]
PAIR = pa.struct([("b", pa.string()), ("a", pa.int32())])
NESTED = pa.struct([("p", PAIR), ("many", pa.list_(pa.int32())), ("at", pa.timestamp("s", "UTC"))])
UUIDS = [UUID(int=1), UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), None]
JSONS = ['{"a": [1, null]}', "null", None, '"\\u00e9\\n"', "1.50"]


def zoned(unit: str, zone: str = "UTC") -> pa.DataType:
    return pa.timestamp(unit, zone)


BOTH = [
    Line(pa.int8(), ALL, [-128, 127, 0, None]),
    Line(pa.uint8(), ALL, [0, 255, None]),
    Line(pa.int16(), ALL, [-(2**15), 2**15 - 1, None]),
    Line(pa.uint16(), ALL.removeprefix("smallint|"), [0, 2**16 - 1, None]),
    Line(pa.uint16(), "smallint", [0, 2**15 - 1]),
    Line(pa.int32(), "integer|" + WIDE, [-(2**31), 2**31 - 1, None]),
    Line(pa.uint32(), "oid|" + WIDE, [0, 2**32 - 1, None]),
    Line(pa.int64(), "bigint|numeric|text", [-(2**63), MOST, None]),
    Line(pa.int64(), ALL, [-(2**15), 2**15 - 1, None]),
    Line(pa.uint64(), "numeric|text|numeric(20)", [0, MOST + 1, 2**64 - 1, None]),
    Line(pa.uint64(), "bigint|numeric|text", [0, MOST]),
    Line(pa.float16(), "real|double precision|numeric", [1.5, -0.25, NAN, None]),
    Line(pa.float16(), "integer|bigint", [1.0, -2.0], [1, -2]),
    Line(pa.float32(), "real|double precision", [1.5, -0.0, NAN, INF, -INF, None]),
    Line(pa.float32(), "real|numeric", [0.1, 3.4028235e38], ["0.1", "3.4028235e+38"]),
    Line(pa.float32(), "double precision", [0.1], [0.10000000149011612]),
    Line(pa.float64(), "double precision|text", [-0.0, NAN, INF], ["-0", "NaN", "Infinity"]),
    Line(pa.float64(), "double precision|numeric", [0.1, -INF, 5e-324, 1.7976931348623157e308]),
    Line(pa.float64(), "real|bigint|numeric", [0.0, -(2.0**24), None], [0, -(2**24), None]),
    Line(pa.decimal32(9, 2), "numeric|numeric(9,2)|text",
         [Decimal("1.50"), Decimal("-9999999.99"), None]),
    Line(pa.decimal64(18, 4), "numeric|numeric(20,4)|text",
         [Decimal("99999999999999.9999"), Decimal("0.0000")]),
    Line(pa.decimal128(38, 2), "numeric|numeric(38,2)|text", [HUGE, HUGE.copy_negate(), None]),
    Line(pa.decimal128(5, 0), "integer|bigint|numeric|text", [Decimal(12345), Decimal(-1)]),
    Line(pa.decimal128(7, 3), "numeric(6,1)|integer", [Decimal("123.000"), None], [123, None]),
    Line(pa.decimal256(76, 6), "numeric|numeric(76,6)|text",
         [HUGER, HUGER.copy_negate(), Decimal("0.000001"), None]),
    Line(pa.bool_(), "boolean", [True, False, None]),
    Line(pa.bool_(), "text", [True, False], ["true", "false"]),
    Line(pa.string(), "text|varchar|varchar(40)|char(30)", WORDS),
    Line(pa.large_string(), "text", WORDS),
    Line(pa.string_view(), "text", [*WORDS, "longer than twelve bytes"]),
    Line(pa.string(), "integer|numeric|jsonb", ["-7", None]),
    Line(pa.string(), "date|timestamp", ["2026-11-24", None]),
    Line(pa.string(), "inet|cidr", ["10.1.2.3/32", None]),
    Line(pa.string(), "integer[]|jsonb[]", ['{1,"2",NULL}']),
    Line(pa.string(), "mood|text", MOOD),
    Line(pa.string(), "pair", ['(7,"a b")', "(,)"]),
    Line(pa.binary(), "bytea", [*BYTES, b""]),
    Line(pa.large_binary(), "bytea", BYTES),
    Line(pa.binary_view(), "bytea", [*BYTES, b"\x00" * 20]),
    Line(pa.binary(4), "bytea", BYTES),
    Line(pa.binary(), "text", ["žl".encode(), b"", None], ["žl", "", None]),
    Line(pa.binary(16), "uuid", [each and each.bytes for each in UUIDS], UUIDS),
    Line(pa.date32(), "date|timestamp|text", DATES),
    Line(pa.date32(), "date", [-2_440_588, 2_145_042_905], ["4714-11-24 BC", "5874897-12-31"]),
    Line(pa.date64(), "date|timestamp|text", DATES),
    Line(pa.time32("s"), "time|time(0)|text", [time(0), time(23, 59, 59), None]),
    Line(pa.time32("ms"), "time|time(3)|text", [3_723_500, None], ["01:02:03.5", None]),
    Line(pa.time64("us"), "time|text", [time(23, 59, 59, 999_999), None]),
    Line(pa.time64("ns"), "time", [86_399_999_999_000, 1_000],
         ["23:59:59.999999", "00:00:00.000001"]),
    Line(pa.time64("ns"), "text", [1, 1_000], ["00:00:00.000000001", "00:00:00.000001"]),
    Line(pa.timestamp("s"), "timestamp|timestamp(0)|text", TIMES),
    Line(pa.timestamp("ms"), "timestamp|timestamp(3)|text", TIMES),
    Line(pa.timestamp("us"), "timestamp|text", TIMES + NEAR),
    Line(pa.timestamp("ns"), "timestamp|text", [WHOLE, *NEAR]),
    Line(pa.timestamp("ns"), "text", [1], ["1970-01-01 00:00:00.000000001"]),
    Line(pa.timestamp("ms"), "date", [datetime(2026, 1, 2), None]),
    Line(zoned("s"), "timestamptz|text", [WHOLE, None], ["2026-03-29 02:30:15+00", None]),
    Line(zoned("ms"), "timestamptz|timestamptz(3)", [WHOLE], [WHOLE.replace(tzinfo=UTC)]),
    Line(zoned("us"), "timestamptz|text", NEAR, ZONED),
    Line(zoned("ns"), "timestamptz|text", NEAR, ZONED),
    Line(zoned("us", "Europe/Berlin"), "timestamptz|text", NEAR, ZONED),
    Line(zoned("us", "+05:30"), "timestamptz|text", NEAR, ZONED),
    Line(pa.duration("s"), "interval", [90_061, -1, None], ["25:01:01", "-00:00:01", None]),
    Line(pa.duration("ms"), "interval|interval(3)", [1, -1], ["0.001 s", "-0.001 s"]),
    Line(pa.duration("us"), "interval|text", [1, -86_400_000_000],
         ["00:00:00.000001", "-24:00:00"]),
    Line(pa.duration("ns"), "interval", [1_000, None], ["00:00:00.000001", None]),
    Line(pa.dictionary(pa.int8(), pa.string()), "text|mood|varchar", MOOD),
    Line(pa.dictionary(pa.uint32(), pa.large_string()), "text|mood", MOOD),
    Line(pa.dictionary(pa.int32(), pa.int64()), "bigint|numeric|text", [2**40, None, 7, 7]),
    Line(pa.dictionary(pa.int16(), pa.date32()), "date", [DATES[0], None, DATES[1], DATES[0]]),
    Line(pa.dictionary(pa.int16(), pa.binary()), "bytea", [b"\x00", None, b"a", b"a"]),
    Line(pa.list_(pa.int32()), "integer[]|bigint[]|numeric[]|text[]", [[1, None], [], None, [-3]]),
    Line(pa.large_list(pa.string()), "text[]", [WORDS, [None], []]),
    Line(pa.list_(pa.int16(), 2), "smallint[]|integer[]", [[1, 2], [None, 3], None]),
    Line(pa.list_view(pa.float64()), "double precision[]", [[NAN, -0.0], [], None]),
    Line(pa.large_list_view(pa.bool_()), "boolean[]", [[True, None], [], None]),
    Line(pa.list_(pa.list_(pa.int32())), "integer[]", [[[1, 2], [3, None]], [], None]),
    Line(pa.list_(pa.list_(pa.int32())), "jsonb", [[[1], [], None]], ["[[1], [], null]"]),
    Line(pa.list_(pa.decimal128(5, 2)), "numeric[]", [[Decimal("1.50"), None]]),
    Line(pa.list_(pa.timestamp("us")), "timestamp[]", [NEAR]),
    Line(pa.list_(pa.binary()), "bytea[]", [BYTES]),
    Line(pa.list_(pa.uuid()), "uuid[]", [[each and each.bytes for each in UUIDS]], [UUIDS]),
    Line(pa.list_(PAIR), "pair[]", [[{"a": 1, "b": "x,y"}, None]], ['{"(1,\\"x,y\\")",NULL}']),
    Line(pa.list_(pa.null()), "integer[]|text[]", [[None, None], [], None]),
    Line(
        PAIR,
        "pair",
        [{"a": 1, "b": '"x" (y)'}, {"a": None, "b": ""}, {}, None],
        ['(1,"""x"" (y)")', '(,"")', "(,)", None],
    ),
    Line(PAIR, "jsonb|json", [{"b": 'é"', "a": None}, None], ['{"b":"é\\"","a":null}', None]),
    Line(
        NESTED,
        "nested",
        [{"p": {"a": 1, "b": "x"}, "many": [1, None], "at": WHOLE}],
        ['("(1,x)","{1,NULL}","2026-03-29 02:30:15+00")'],
    ),
    Line(NESTED, "jsonb", [{"p": None, "many": [], "at": WHOLE}],
         ['{"p": null, "many": [], "at": "2026-03-29T02:30:15+00:00"}']),
    Line(pa.map_(pa.string(), pa.int64()), "jsonb|json", [[("a", 1), ("", None)], [], None],
         ['{"a":1,"":null}', "{}", None]),
    Line(pa.map_(pa.string(), PAIR), "jsonb", [[("k", {"a": 1, "b": "x"})]],
         ['{"k": {"a": 1, "b": "x"}}']),
    Line(pa.uint64(), "jsonb|json", [0, 2**64 - 1, None]),
    Line(pa.float64(), "jsonb", [0.1, 1e300, -2.5e-9, None]),
    Line(pa.decimal128(20, 2), "jsonb|json", [Decimal("1.50"), Decimal("-123456789012345678.90")]),
    Line(pa.bool_(), "jsonb", [True, None], ["true", None]),
    Line(pa.date32(), "jsonb|json", [DATES[0]], ['"2026-11-24"']),
    Line(pa.timestamp("ms"), "jsonb", [WHOLE], ['"2026-03-29T02:30:15"']),
    Line(zoned("ns", "Asia/Tokyo"), "jsonb", [1], ['"1970-01-01T00:00:00.000000001+00:00"']),
    Line(pa.list_(pa.duration("s")), "interval[]", [[60, None]], ["{00:01:00,NULL}"]),
    Line(pa.list_(pa.map_(pa.string(), pa.int8())), "jsonb", [[]], ["[]"]),
    Line(pa.list_(pa.map_(pa.string(), pa.int8())), "jsonb[]", [[[("a", 1)], None]],
         ['{"{\\"a\\": 1}",NULL}']),
    Line(pa.list_(pa.list_(PAIR, 1)), "pair[]", [[[{"a": 1}], [{"b": "x"}]]],
         ['{{"(1,)"},{"(,x)"}}']),
    Line(pa.int32(), "positive", [1, 2**31 - 1, None]),
    Line(pa.string(), "positive", [" 1 ", None]),
    Line(pa.list_(pa.int8()), "positive[]", [[1, None], []]),
    Line(pa.string(), "int4range|int8range", ["[1,5)", "empty", None]),
    Line(pa.string(), "time with time zone", ["12:00+02", None]),
    Line(pa.uuid(), "jsonb", [UUIDS[0].bytes], [f'"{UUIDS[0]}"']),
    Line(pa.uuid(), "uuid|text|varchar(36)", [each and each.bytes for each in UUIDS],
         [each and str(each) for each in UUIDS]),
    Line(pa.json_(), "jsonb|json|text", JSONS),
    Line(pa.null(), "text|integer|jsonb|timestamptz|pair|integer[]", [None, None]),
]  # fmt: skip
# Text equals the server's output of the same number.
SPELLED = [
    Line(pa.float32(), "text|varchar", [0.1, 3.4028235e38, 1e6, 1e-5, 123456.0],
         ["0.1", "3.4028235e+38", "1e+06", "1e-05", "123456"]),
    Line(pa.float64(), "text", [1e14, 1e15, 1e22, 0.0001, 1e-5, -5e-324],
         ["100000000000000", "1e+15", "1e+22", "0.0001", "1e-05", "-5e-324"]),
]  # fmt: skip
# Arrow's canonical extensions for the meaning of a value, besides UUID and JSON.
EXTENSIONS = [
    Line(pa.bool8(), "boolean", [1, 0, None], [True, False, None]),
    Line(pa.fixed_shape_tensor(pa.float32(), (2,)), "real[]", [[1.5, -0.5], None]),
]
# Types that only the server can read are sent as text, row by row.
AS_TEXT = [
    Line(pa.string(), "money", ["$1.50", None]),
    Line(pa.string_view(), "tsvector", ["a:1 b:2A", "", None]),
    Line(pa.dictionary(pa.int8(), pa.string()), "int4multirange", ["{[1,2),[5,9)}", "{}", None]),
    Line(pa.string(), "date|timestamp", ["2026-11-24", "Nov 24 2026", "infinity"]),
    Line(pa.string(), "interval", ["1 year 2 days", "P1Y2M", None]),
]
# Parquet has no such types.
IPC = [
    Line(pa.decimal128(5, -2), "numeric|bigint|text", [Decimal("1.2E+6"), Decimal("-1E+2")],
         [1_200_000, -100]),
    Line(pa.run_end_encoded(pa.int32(), pa.string()), "text|mood", MOOD),
    Line(pa.month_day_nano_interval(), "interval", [(14, -3, 4_000_001_000), None],
         ["14 mons -3 days +00:00:04.000001", None]),
    Line(pa.binary(0), "bytea", [b"", None]),
]  # fmt: skip


def array(line: Line) -> pa.Array:
    """Return the values as an array of the type."""
    if pa.types.is_dictionary(line.type):
        encoded = pa.array(line.values, line.type.value_type).dictionary_encode()
        indices = encoded.indices.cast(line.type.index_type)
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary)
    if isinstance(line.type, pa.BaseExtensionType):
        return line.type.wrap_array(pa.array(line.values, line.type.storage_type))
    if pa.types.is_run_end_encoded(line.type):
        return pa.compute.run_end_encode(pa.array(line.values, line.type.value_type))
    if pa.types.is_list(line.type) and line.type.value_type == pa.uuid():
        return pa.array(line.values, pa.list_(pa.binary(16))).cast(line.type)
    return pa.array(line.values, line.type)


def table(ids: range, lines: dict[str, Line]) -> pa.Table:
    """Return a table with a column for each line."""
    columns = {name: array(line) for name, line in lines.items()}
    return pa.table({"id": pa.array(ids, pa.int64()), **columns})


def write_parquet(file: Path, ids: range, lines: dict[str, Line]) -> None:
    parquet.write_table(table(ids, lines), file)


def write_arrow(file: Path, ids: range, lines: dict[str, Line]) -> None:
    rows = table(ids, lines)
    with ipc.new_file(file, rows.schema) as writer:
        writer.write(rows)


class Types(Matrix):
    def test_parquet(self):
        self.assert_lines(BOTH, write_parquet, "rows.parquet", ["--wire", "binary"])

    def test_parquet_that_the_server_reads(self):
        self.assert_lines(AS_TEXT + BOTH[:5], write_parquet, "rows.parquet")

    def test_arrow(self):
        self.assert_lines(BOTH + IPC, write_arrow, "rows.arrow", ["--wire", "binary"])

    def test_arrow_as_text(self):
        self.assert_lines(BOTH + IPC, write_arrow, "rows.arrow", ["--wire", "text"])

    def test_many_rows_in_pieces(self):
        """Enough rows to cut a batch, so that arrays begin in the middle of others."""
        self.assert_lines(BOTH + IPC, write_arrow, "rows.arrow", ["--wire", "binary"], least=500)
        self.assert_lines(BOTH, write_parquet, "rows.parquet", ["--wire", "text"], least=500)

    def test_numbers_as_text_are_spelled_as_the_server_does(self):
        self.assert_lines(SPELLED, write_parquet, "rows.parquet")

    def test_extensions(self):
        self.assert_lines(EXTENSIONS, write_parquet, "rows.parquet")
        self.assert_lines(EXTENSIONS, write_arrow, "rows.arrow")
