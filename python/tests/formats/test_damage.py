"""Damaged files: an error or the same rows, never others, and always an end."""

import random
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import parquet

from .place import Done, OnServer
from .test_packing import COLUMNS, SCHEMA, table, write_ipc

SEED = 20261124
FLIPS = 16


def table_of(count: int) -> pa.Table:
    return table().slice(0, count).combine_chunks()


def flipped(data: bytes, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Yield the data repeatedly with one byte between these places changed."""
    draw = random.Random(SEED)
    for _ in range(FLIPS):
        place = draw.randrange(first, last)
        damaged = bytearray(data)
        damaged[place] ^= 1 << draw.randrange(8)
        yield place, bytes(damaged)


class Damage(OnServer):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.make(**COLUMNS)
        self.table = table_of(300)
        self.copy(zip(*[column.to_pylist() for column in self.table.columns], strict=True))

    def parquet(self, **options: object) -> bytes:
        """Return the rows as Parquet, in three row groups."""
        parquet.write_table(self.table, self.folder / "whole", row_group_size=100, **options)
        return (self.folder / "whole").read_bytes()

    def arrow(self, name: str) -> bytes:
        """Return the rows as Arrow, in three batches."""
        batches = self.table.to_batches(max_chunksize=100)
        write_ipc(self.folder / f"whole-{name}", batches, SCHEMA, compression="zstd")
        return (self.folder / f"whole-{name}").read_bytes()

    def load_damaged(self, name: str, data: bytes) -> Done:
        """Load damaged data into an empty table."""
        self.empty("loaded")
        (self.folder / name).write_bytes(data)
        return self.run_program("load", name, "-t", "loaded", *self.quick)

    def test_files_that_end_too_early(self):
        for name, whole in (
            ("rows.parquet", self.parquet()),
            ("rows.arrow", self.arrow("rows.arrow")),
            ("rows.arrows", self.arrow("rows.arrows")),
        ):
            for length in (1, 5, 9, len(whole) // 3, len(whole) // 2, len(whole) - 9):
                with self.subTest(file=name, length=length, of=len(whole)):
                    done = self.load_damaged(name, whole[:length])
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(f"could not read {name} as ", done.stderr)
                    self.assertNotIn("panicked", done.stderr)
                    self.assertEqual(self.rows("loaded"), [])

    def test_a_stream_that_ends_between_two_batches(self):
        """A missing end marker is not an error for a reader: the end of the file is enough."""
        batches = self.table.to_batches(max_chunksize=100)
        with pa.ipc.new_stream(self.folder / "rows.arrows", SCHEMA) as writer:
            for batch in batches:
                writer.write(batch)
            length = (self.folder / "rows.arrows").stat().st_size
        whole = (self.folder / "rows.arrows").read_bytes()
        self.assertEqual(len(whole), length + 8)
        self.assertEqual(self.load_damaged("rows.arrows", whole[:-8]).returncode, 0)
        self.assert_same()

    def test_pages_with_checksums_have_other_bytes(self):
        """Each page has a checksum, so no row may differ."""
        wrong = []
        for compression in ("zstd", "none"):
            whole = self.parquet(compression=compression, write_page_checksum=True)
            metadata = parquet.read_metadata(self.folder / "whole")
            for place, damaged in flipped(whole, 4, len(whole) - 8 - metadata.serialized_size):
                status = self.load_damaged("rows.parquet", damaged).returncode
                if status == 0 and self.rows("loaded") != self.rows("copied"):
                    wrong.append((compression, place))
        self.assertEqual(wrong, [], f"{len(wrong)} of {2 * FLIPS}")

    def test_reading_ends_whichever_byte_is_changed(self):
        """These cannot all be detected, but none may cause a hang, panic or abort."""
        rows = self.parquet(compression="snappy")
        footer = len(rows) - 8 - parquet.read_metadata(self.folder / "whole").serialized_size
        wrong = []
        for name, whole, first, last in (
            ("rows.parquet", rows, 0, footer),
            ("rows.parquet", rows, footer, len(rows)),
            *((name, self.arrow(name), 0, None) for name in ("rows.arrow", "rows.arrows")),
        ):
            for place, damaged in flipped(whole, first, last or len(whole)):
                done = self.load_damaged(name, damaged)
                if done.returncode not in (0, 1) or "panicked" in done.stderr:
                    wrong.append((name, place, done.stderr.strip()[:200]))
        self.assertEqual(wrong, [], f"{len(wrong)} of {4 * FLIPS}")
