"""Files that do not fit their table, whatever their values: the message, and no stored rows."""

import gzip
from itertools import product

import duckdb
import pyarrow as pa
from pyarrow import parquet

from .place import OnServer
from .test_packing import write_ipc

ZONED = pa.timestamp("us", "UTC")
PAIR = pa.struct({"a": pa.int32(), "b": pa.string()})
# Types of a file, types of PostgreSQL that cannot hold their values, and the message.
MISFITS = [
    (pa.timestamp("us"), "timestamptz", "it has no time zone"),
    (pa.date32(), "timestamptz", "it has no time zone"),
    (ZONED, "timestamp|date", "its time zone would be lost"),
    (pa.time64("us"), "timetz", "it has no time zone"),
    (pa.decimal128(5, 2), "real|double precision", "a decimal would be rounded"),
    (pa.float64(), "boolean|date|interval|uuid", "the type cannot store such values"),
    (pa.int64(), "timestamp|jsonb[]|money", ""),
    (pa.bool_(), "integer", "a boolean needs boolean or text"),
    (pa.duration("s"), "time|bigint", "the type cannot store such values"),
    (pa.duration("s"), "interval day to second", "the column stores only some fields"),
    (pa.binary(), "integer|jsonb[]", "bytes need bytea"),
    (pa.binary(8), "uuid", "bytes need bytea"),
    (pa.list_(pa.int32()), "integer|text", "a list needs an array or jsonb"),
    (pa.list_(pa.bool_()), "integer[]", "its elements: a boolean needs boolean or text"),
    (PAIR, "text|pair[]", "a struct needs a composite type or jsonb"),
    (pa.struct({"a": pa.int32()}), "pair", 'the struct has no field "b"'),
    (pa.struct([*PAIR, pa.field("c", pa.int8())]), "pair", 'the composite type has no column "c"'),
    (pa.struct([*PAIR, pa.field("a", pa.int8())]), "jsonb", 'the struct has two fields "a"'),
    (pa.map_(pa.string(), pa.int32()), "text|pair", "a map needs jsonb or json"),
    (pa.map_(pa.int32(), pa.int32()), "jsonb", "the keys of a JSON object must be strings"),
    (pa.struct({"x": pa.binary()}), "jsonb", "JSON cannot represent bytes"),
    (pa.dense_union([pa.field("a", pa.int32())]), "integer|jsonb", "unions are not supported"),
]  # fmt: skip


class Misfits(OnServer):
    def test_types_are_refused_with_the_name_of_the_column(self):
        for ty, postgres, message in MISFITS:
            for one in postgres.split("|"):
                with self.subTest(type=str(ty), onto=one):
                    self.make(value=one)
                    schema = pa.schema({"id": pa.int64(), "value": ty})
                    write_ipc(self.folder / "rows.arrow", [], schema)
                    named = ("column value is of type", "rows.arrow", "SQLSTATE 42804", message)
                    self.refuse("rows.arrow", message=named)

    def test_rejects_do_not_help(self):
        self.make(value="timestamptz")
        rows = pa.table({"id": [1], "value": pa.array([0], pa.timestamp("us"))})
        parquet.write_table(rows, self.folder / "rows.parquet")
        options = ["--reject-file", "bad.ndjson", "--max-rejects", "1"]
        self.refuse("rows.parquet", message=["column value", "no time zone"], options=options)
        self.assertFalse((self.folder / "bad.ndjson").exists())

    def test_times_of_96_bits_have_no_zone(self):
        self.make(value="timestamptz")
        rows = pa.table({"id": [1], "value": pa.array([0], ZONED)})
        old = {"use_deprecated_int96_timestamps": True, "store_schema": False}
        parquet.write_table(rows, self.folder / "rows.parquet", **old)
        self.refuse("rows.parquet", message=["column value", "no time zone"])
        self.make(value="timestamp")
        self.assert_loaded([(1, "1970-01-01 00:00:00")], "rows.parquet")


class Columns(OnServer):
    """The columns of files, their order, and the columns of several files."""

    def setUp(self):
        super().setUp()
        self.make(a="integer", b="text DEFAULT 'none'", c="numeric")

    def write(self, name: str, **columns: list) -> str:
        """Write a file of Parquet or Arrow, depending on the name."""
        rows = pa.table(columns)
        if name.endswith(".parquet"):
            parquet.write_table(rows, self.folder / name)
        else:
            write_ipc(self.folder / name, rows.to_batches(), rows.schema)
        return name

    def test_order_is_free_and_what_is_missing_has_its_default(self):
        for name in ("rows.parquet", "rows.arrow"):
            self.write(name, c=[1.5, None], id=[7, 8], a=[1, 2])
            self.assert_loaded([(7, 1, "none", 1.5), (8, 2, "none", None)], name)

    def test_names_are_led_to_columns(self):
        self.write("rows.parquet", id=[7], **{"A": [1], "Name of it": ["x"]})
        options = ["--map", "A=a", "--map", "Name of it=b"]
        self.assert_loaded([(7, 1, "x", None)], "rows.parquet", options=options)

    def test_column_that_the_table_lacks(self):
        for name in ("rows.parquet", "rows.arrow", "rows.arrows"):
            with self.subTest(file=name):
                self.empty("loaded")
                self.write(name, id=[7], d=[1], a=[2])
                self.refuse(name, message=['"d", which matches no column', "--ignore-extra"])
                self.assert_loaded([(7, 2, "none", None)], name, options=["--ignore-extra"])

    def test_column_that_is_there_twice(self):
        rows = pa.table([pa.array([7]), pa.array([1]), pa.array([2])], names=["id", "a", "a"])
        parquet.write_table(rows, self.folder / "rows.parquet")
        write_ipc(self.folder / "rows.arrow", rows.to_batches(), rows.schema)
        for name, options in product(["rows.parquet", "rows.arrow"], [[], ["--ignore-extra"]]):
            self.refuse(name, message=['"a" more than once'], options=options)

    def test_capitals_count_only_where_they_tell_names_apart(self):
        self.write("rows.parquet", ID=[7], A=[1])
        self.assert_loaded([(7, 1, "none", None)], "rows.parquet")
        self.write("both.parquet", id=[7], A=[1], a=[2])
        self.empty("loaded")
        self.refuse("both.parquet", message=["a"])

    def test_two_files_with_the_columns_in_another_order_and_types_that_fit(self):
        self.write("1.parquet", id=pa.array([1], pa.int64()), a=pa.array([1], pa.int8()))
        self.write("2.parquet", a=pa.array(["2"]), id=pa.array([2], pa.uint16()))
        self.write("3.parquet", a=pa.array([3.0]), id=pa.array(["3"]).dictionary_encode())
        rows = [(n, n, "none", None) for n in (1, 2, 3)]
        self.assert_loaded(rows, "1.parquet", "2.parquet", "3.parquet")

    def test_two_files_of_other_columns(self):
        """A column that one of them lacks is NULL there, unless it has a default."""
        for suffix in ["parquet", "arrow"]:
            for one, other, expected in [
                ({}, {"c": [3]}, [(1, None, "none", None), (2, None, "none", 3)]),
                ({"a": [5]}, {}, [(1, 5, "none", None), (2, None, "none", None)]),
            ]:
                with self.subTest(file=suffix, one=one, other=other):
                    self.empty("loaded")
                    names = [f"1.{suffix}", f"2.{suffix}"]
                    self.write(names[0], id=[1], **one)
                    self.write(names[1], id=[2], **other)
                    self.assert_loaded(expected, *names)
            self.empty("loaded")
            self.write(f"1.{suffix}", id=[1])
            two = self.write(f"2.{suffix}", id=[2], c=[True])
            self.refuse(f"1.{suffix}", two, message=[two, "column c is of type numeric"])
            self.write(f"1.{suffix}", id=[1], b=["x"])
            two = self.write(f"2.{suffix}", id=[2])
            message = [two, 'has no "b", and its column has a default']
            self.refuse(f"1.{suffix}", two, message=message)

    def test_files_of_pandas(self):
        """The index is a column there, and integers with NULL are doubles."""
        rows = pa.table(
            {"id": [5, 6], "a": pa.array([1.0, None], pa.float64()), "__index_level_0__": [0, 1]}
        )
        about = {"pandas": '{"index_columns": ["__index_level_0__"], "columns": []}'}
        parquet.write_table(rows.replace_schema_metadata(about), self.folder / "rows.parquet")
        self.refuse(
            "rows.parquet",
            message=['"__index_level_0__", which matches no column', "--ignore-extra"],
        )
        expected = [(5, 1, "none", None), (6, None, "none", None)]
        self.assert_loaded(expected, "rows.parquet", options=["--ignore-extra"])


class Others(OnServer):
    """Files with a wrong name."""

    def setUp(self):
        super().setUp()
        self.make(a="integer")
        self.table = pa.table({"id": [1], "a": [2]})

    def test_bytes_count_for_more_than_names(self):
        parquet.write_table(self.table, self.folder / "rows.arrow")
        write_ipc(self.folder / "rows.feather", self.table.to_batches(), self.table.schema)
        (self.folder / "rows.feather").rename(self.folder / "rows.parquet")
        for name in ("rows.arrow", "rows.parquet"):
            self.assert_loaded([(1, 2)], name)

    def test_other_formats_are_refused(self):
        with duckdb.connect() as connection:
            # DuckDB does not know this ending, and writes CSV.
            connection.execute(f"COPY (SELECT 1 AS id, 2 AS a) TO '{self.folder}/csv.arrow'")
        for name in ("csv.parquet", "csv.feather"):
            (self.folder / name).write_bytes((self.folder / "csv.arrow").read_bytes())
        for name in ("empty.parquet", "empty.arrow"):
            (self.folder / name).touch()
        (self.folder / "PAR1.parquet").write_bytes(b"PAR1")
        (self.folder / "ARROW1.arrow").write_bytes(b"ARROW1\0\0")
        (self.folder / "old.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
        for file in sorted(self.folder.glob("*.*")):
            with self.subTest(file=file.name):
                kind = "parquet" if ".parquet" in file.name else "arrow"
                self.refuse(file.name, message=[f"could not read {file.name} as {kind}: "])

    def test_files_compressed_as_a_whole_are_refused(self):
        parquet.write_table(self.table, self.folder / "rows.parquet")
        packed = gzip.compress((self.folder / "rows.parquet").read_bytes())
        (self.folder / "packed.parquet.gz").write_bytes(packed)
        self.refuse("packed.parquet.gz", message=["packed.parquet.gz", "gzip"])

    def test_standard_input(self):
        write_ipc(self.folder / "rows.arrows", self.table.to_batches(), self.table.schema)
        write_ipc(self.folder / "rows.arrow", self.table.to_batches(), self.table.schema)
        parquet.write_table(self.table, self.folder / "rows.parquet")
        self.copy([(1, 2)])
        for name in ("rows.arrows", "rows.arrow", "rows.parquet"):
            with self.subTest(file=name):
                self.empty("loaded")
                kind = name.removeprefix("rows.").removesuffix("s")
                args = ["load", "-", "--format", kind, "-t", "loaded"]
                done = self.run_program(*args, given=self.folder / name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_same()

    def test_standard_input_whose_format_is_not_named(self):
        write_ipc(self.folder / "rows.arrows", self.table.to_batches(), self.table.schema)
        write_ipc(self.folder / "rows.arrow", self.table.to_batches(), self.table.schema)
        parquet.write_table(self.table, self.folder / "rows.parquet")
        for name in ("rows.arrows", "rows.arrow", "rows.parquet"):
            with self.subTest(file=name):
                done = self.run_program("load", "-", "-t", "loaded", given=self.folder / name)
                self.assertEqual(done.returncode, 1, done.stderr)
                kind = name.removeprefix("rows.").removesuffix("s")
                self.assertIn(f"--format {kind}", done.stderr)

    def test_array_of_json(self):
        with duckdb.connect() as connection:
            to = f"'{self.folder}/rows.json' (ARRAY true)"
            connection.execute(f"COPY (SELECT 1 AS id, 2 AS a) TO {to}")
        self.refuse("rows.json", message=["is a single JSON array", "jq -c '.[]' rows.json"])

    def test_formats_are_not_mixed(self):
        parquet.write_table(self.table, self.folder / "1.parquet")
        write_ipc(self.folder / "2.arrow", self.table.to_batches(), self.table.schema)
        self.refuse("1.parquet", "2.arrow", message=["1.parquet is parquet, but 2.arrow is arrow"])
