"""Loads from object stores give the same table and the same counts as loads of local files."""

import csv
import gzip
import io
import json
import random
import string
import unittest
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from .place import OnStores, Snapshot, summary
from .servers import Azure, Google, Http, Moto, Seaweed, Store, WholeHttp, started

FEW = 2000
# As text some 2 MB: more than the first blocks that are requested of an object.
MANY = 8_000
# Keys of the summary that do not depend on whether an input can be read again.
COUNTS = ("rows_read", "rows_inserted", "rows_rejected", "counts", "bytes_read", "warnings")
COLUMNS = {"name": "text", "total": "numeric(10,2)", "day": "date"}


@cache
def table(rows: int = FEW, first: int = 0) -> pa.Table:
    """Return rows whose names do not compress, some of them with quotes and line ends."""
    source = random.Random(rows + first)
    ids = list(range(first, first + rows))
    names = ["".join(source.choices(string.ascii_letters, k=200)) for _ in ids]
    hard = ['two\nlines "quoted"', "", "größer, 日本", None, "\\N", "a\r\nb"]
    names[: len(hard)] = hard
    totals = [None if n % 11 == 0 else n * 17 % 100_000 / 100 for n in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": names,
            "total": pa.array(
                [None if n is None else f"{n:.2f}" for n in totals], pa.string()
            ).cast(pa.decimal128(10, 2)),
            "day": pa.array([20_000 + n % 500 for n in ids], pa.int32()).cast(pa.date32()),
        }
    )


def csv_of(data: pa.Table) -> str:
    """Return CSV with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(data.column_names)
    writer.writerows(zip(*data.to_pydict().values(), strict=True))
    return text.getvalue()


def text_of(data: pa.Table) -> bytes:
    """Return the rows as COPY's text format."""

    def field(value: Any) -> str:
        if value is None:
            return "\\N"
        text = str(value).replace("\\", "\\\\").replace("\t", "\\t")
        return text.replace("\n", "\\n").replace("\r", "\\r")

    rows = zip(*data.to_pydict().values(), strict=True)
    return "".join("\t".join(map(field, row)) + "\n" for row in rows).encode()


def ndjson_of(data: pa.Table) -> bytes:
    return "".join(json.dumps(row, default=str) + "\n" for row in data.to_pylist()).encode()


def parquet_of(data: pa.Table, rows: int) -> bytes:
    """Return a Parquet file with row groups of so many rows."""
    file = io.BytesIO()
    pq.write_table(data, file, row_group_size=rows)
    return file.getvalue()


def arrow_of(data: pa.Table, new: Callable[..., Any]) -> bytes:
    file = io.BytesIO()
    with new(file, data.schema) as writer:
        writer.write_table(data, 700)
    return file.getvalue()


def wide(data: pa.Table) -> pa.Table:
    """Add columns that the table in the database does not have, large and small ones."""
    noise = random.Random(3)
    large = [noise.randbytes(300) for _ in range(data.num_rows)]
    return data.add_column(1, "large", [large]).append_column("small", [range(data.num_rows)])


@dataclass(frozen=True)
class Case:
    """Objects, and how they are read."""

    files: dict[str, bytes]
    options: Sequence[str] = ()
    # A prefix or a pattern to load in place of the names of all files.
    pattern: str | None = None
    python: dict[str, Any] = field(default_factory=dict)

    def names(self) -> list[str]:
        return list(self.files) if self.pattern is None else [self.pattern]


@cache
def cases() -> dict[str, Case]:
    few, header = csv_of(table()), {"header": True}
    parts = {f"part-{n}.csv": csv_of(table(300, 300 * n)).encode() for n in range(12)}
    zstd = pa.compress(few.encode(), codec="zstd", asbytes=True)
    ignore = {"ignore_extra": True}
    return {
        "text": Case({"rows.tsv": text_of(table(MANY))}),
        "csv": Case({"rows.csv": csv_of(table(MANY)).encode()}, ["--header"], python=header),
        "gzip": Case({"rows.csv.gz": gzip.compress(few.encode())}, ["--header"], python=header),
        "zstd": Case({"rows.csv.zst": zstd}, ["--header=match"], python={"header": "match"}),
        "utf-16": Case(
            {"rows.csv": few.encode("utf-16")},
            ["--header", "--encoding", "utf-16"],
            python=header | {"encoding": "utf-16"},
        ),
        "ndjson": Case({"rows.ndjson": ndjson_of(table())}),
        "parquet": Case({"rows.parquet": parquet_of(table(MANY), 3000)}),
        "some columns": Case(
            {"rows.parquet": parquet_of(wide(table(MANY)), 5000)}, ["--ignore-extra"], python=ignore
        ),
        "arrow file": Case({"rows.arrow": arrow_of(table(), pa.ipc.new_file)}),
        "arrow stream": Case({"rows.arrows": arrow_of(table(), pa.ipc.new_stream)}),
        "empty": Case({"empty.csv": b""}),
        "empty beside others": Case(
            {"a.csv": b"", "b.csv": b"1,a,2.50,2026-01-01\n", "c.csv": b""}
        ),
        "small": Case({"small.csv": b"1,a,,"}),
        "several": Case(parts, ["--header"], python=header),
        "prefix": Case({"days/_SUCCESS": b"", **parts_in("days", parts)}, ["--header"], "days"),
        "pattern": Case(
            {"d/e/README": b"no data", **parts_in("d", parts), **parts_in("d/e", {})},
            ["--header"],
            "d/part-[0-9].csv",
        ),
    }


def parts_in(folder: str, parts: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": data for name, data in parts.items()}


@dataclass
class Expected:
    rows: Snapshot
    summary: dict[str, Any]


class Equal(OnStores):
    """Tests of a server. Its subclasses name the server."""

    kind: ClassVar[type[Store]]
    # The results of loads from the disk, which all servers share.
    expected: ClassVar[dict[str, Expected]] = {}
    maxDiff = 2000

    def setUp(self):
        super().setUp()
        self.store: Store = started(self.kind)
        self.make(**COLUMNS)

    def test_the_program_loads_the_same_rows(self):
        for name, case in self.cases():
            with self.subTest(name):
                expected = self.expect(name, case)
                places = self.put(name, case)
                done = self.load_from(self.store, *places, options=["--json", *case.options])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_equal(self.snapshot(), expected.rows)
                found = summary(done, [self.store.address(f"{name}/")])
                keys = COUNTS if self.is_streamed(case) else list(expected.summary)
                for key in keys:
                    self.assertEqual(found[key], expected.summary[key], key)

    def test_python_loads_the_same_rows(self):
        for name, case in self.cases():
            with self.subTest(name):
                expected = self.expect(name, case)
                places = self.put(name, case)
                options = case.python or ({"header": True} if case.options else {})
                done = self.python_from(self.store, places, **options)
                self.assert_equal(self.snapshot(), expected.rows)
                self.assertEqual(done.rows_read, expected.summary["rows_read"])
                self.assertEqual(done.bytes_read, expected.summary["bytes_read"])

    def test_the_same_rows_are_rejected(self):
        bad = {17: "x", 900: "13.999999999999e", 1999: "99999999999"}
        lines = [f"{n},name {n},{bad.get(n, n)},2026-01-01\n" for n in range(2000)]
        text = "".join(lines).encode()
        for name, data in {"bad.csv": text, "bad.csv.gz": gzip.compress(text)}.items():
            with self.subTest(name):
                (self.folder / name).write_bytes(data)
                self.store.put(f"rejects/{name}", data)
                address = self.store.address(f"rejects/{name}")
                found = [self.rejected(place) for place in (name, address)]
                self.assertEqual(found[0], found[1])
                self.assertEqual(len(found[0][1].splitlines()), 3)

    def rejected(self, place: str) -> tuple[Snapshot, str, list[dict[str, Any]]]:
        """Load with rejects; return the rows of the table, the rejected rows and the reasons."""
        file = self.folder / "rejects"
        options = ["--reject-file", file, "--max-rejects", "100"]
        done = self.load_from(self.store, place, options=options)
        self.assertEqual(done.returncode, 3, done.stderr)
        log = file.with_name("rejects.log")
        reasons = [json.loads(line) for line in log.read_text().splitlines()]
        for reason in reasons:
            self.assertEqual(reason.pop("source"), place)
            reason.pop("load")
            # Few rows that can be read again go through the root.
            reason.pop("table")
        rows = file.read_text()
        file.unlink()
        log.unlink()
        return self.snapshot(), rows, reasons

    def cases(self) -> list[tuple[str, Case]]:
        """Return the cases that the server can have: some have no lists of names."""
        return [(n, c) for n, c in cases().items() if self.store.lists or c.pattern is None]

    def put(self, name: str, case: Case) -> list[str]:
        """Write the objects of a case, and return the addresses to load."""
        for file, data in case.files.items():
            self.store.put(f"{name}/{file}", data)
        return [self.store.address(f"{name}/{file}") for file in case.names()]

    def expect(self, name: str, case: Case) -> Expected:
        """Return the result of loading the files of a case from the disk, once for all servers."""
        if name not in self.expected:
            folder = self.folder / name
            for file, data in case.files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes(data)
            places = [f"{name}/{file}" for file in case.names()]
            done = self.load_from(self.store, *places, options=["--json", *case.options])
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = self.snapshot()
            self.expected[name] = Expected(rows, summary(done, [f"{name}/"]))
        return self.expected[name]

    def is_streamed(self, case: Case) -> bool:
        """Whether the server sends only the whole of some files, so that each is read once."""
        return self.kind is WholeHttp or (self.kind is Http and b"" in case.files.values())

    def assert_equal(self, found: Snapshot, expected: Snapshot) -> None:
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected, strict=True):
            self.assertEqual(one, other)


class OfAmazon(Equal):
    kind = Moto


class OfGoogle(Equal):
    kind = Google


class OfHttp(Equal):
    kind = Http


class OfMicrosoft(Equal):
    kind = Azure


class OfSeaweed(Equal):
    kind = Seaweed


class OfWholeHttp(Equal):
    kind = WholeHttp


del Equal

if __name__ == "__main__":
    unittest.main()
