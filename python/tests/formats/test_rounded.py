"""Values with more digits than their columns: rounded as the server rounds their text."""

import math
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from psycopg import sql
from pyarrow import parquet

from .place import OnServer
from .test_packing import write_ipc

ROWS = 300
SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
# Halves of the last digit, and their neighbours.
PLACES = (0, 1, 4, 5, 6, 9, 49, 50, 51, 95, 99, 449, 499, 500, 501, 995, 4_999, 5_000)
CHANCE = random.Random(20261126)


class Rounded(NamedTuple):
    """A type of a file, a type of PostgreSQL, values, and their texts."""

    type: pa.DataType
    postgres: str
    values: Sequence
    text: Callable[[object], str] = str


def doubles() -> list[float]:
    ties = [0.005, 0.015, 0.025, 1.005, 2.5, 0.5, 1e-7, 5e-324, 0.30000000000000004, 49.0, 50.0]
    signed = [sign * tie for tie in (*ties, 150.0, 12_345.675) for sign in (1, -1)]
    eighths = [CHANCE.randrange(-(10**7), 10**7) / 8 for _ in range(ROWS)]
    others = [CHANCE.uniform(-1e6, 1e6) for _ in range(ROWS)]
    return [*signed, -0.0, math.nan, *eighths, *others]


def singles() -> list[np.float32]:
    return [np.float32(number) for number in doubles()]


def decimals(scale: int) -> list[Decimal]:
    numbers = [CHANCE.randrange(-(10**9), 10**9) * 10**6 + place for place in PLACES * 4]
    numbers += [sign * place * 10**7 for place in PLACES for sign in (1, -1)]
    return [Decimal(number).scaleb(-scale) for number in numbers]


def whole() -> list[int]:
    near = [
        sign * (2**bits + more) for bits in (24, 53, 62) for sign in (1, -1) for more in range(6)
    ]
    return [*near, 2**63 - 1, -(2**63), *(CHANCE.randrange(-(2**63), 2**63) for _ in range(ROWS))]


def ticks(unit: str, seconds: Sequence[int]) -> list[int]:
    """Return times around halves of each number of digits."""
    one = SECOND[unit]
    parts = [place * step % one for place in PLACES for step in (1, 10, 1000, 10**5, 10**7)]
    parts += [one - part for part in parts if part]
    return [CHANCE.choice(seconds) * one + part for part in parts] + [
        CHANCE.choice(seconds) * one + CHANCE.randrange(one) for _ in range(ROWS)
    ]


def fraction(unit: str, rest: int) -> str:
    return f".{rest * (10**9 // SECOND[unit]):09}"


def stamp(unit: str, zone: str = "") -> Callable[[object], str]:
    def text(tick: object) -> str:
        seconds, rest = divmod(int(tick), SECOND[unit])
        return f"{datetime(1970, 1, 1) + timedelta(seconds=seconds)}{fraction(unit, rest)}{zone}"

    return text


def clock(unit: str) -> Callable[[object], str]:
    def text(tick: object) -> str:
        seconds, rest = divmod(abs(int(tick)), SECOND[unit])
        sign = "-" if int(tick) < 0 else ""
        hours = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{sign}{hours}{fraction(unit, rest)}"

    return text


def cases() -> list[Rounded]:
    some = [
        Rounded(pa.float64(), column, doubles(), repr)
        for column in ("numeric(12,2)", "numeric(12,0)", "numeric(12,-2)", "numeric(20,5)")
    ]
    some += [
        Rounded(pa.float32(), column, singles()) for column in ("numeric(12,2)", "numeric(9,-1)")
    ]
    for of, scale in ((pa.decimal128(38, 9), 9), (pa.decimal256(76, 12), 12)):
        numbers = decimals(scale)
        for column in ("numeric(20,2)", "numeric(20,-2)", "double precision", "real"):
            some.append(Rounded(of, column, numbers))
    for column in ("numeric(22,-3)", "double precision", "real"):
        some.append(Rounded(pa.int64(), column, whole()))
    days = [0, -1, 86_399, 946_684_799, 946_684_800, -2_208_988_801, 4_000_000_000]
    for unit in ("ms", "us", "ns"):
        for digits in range(7):
            seconds = ticks(unit, days)
            some.append(Rounded(pa.timestamp(unit), f"timestamp({digits})", seconds, stamp(unit)))
            of = pa.timestamp(unit, "UTC")
            some.append(Rounded(of, f"timestamptz({digits})", seconds, stamp(unit, "+00")))
            if unit != "ms":
                of_day = ticks(unit, [0, 1, 43_200, 86_399])
                some.append(Rounded(pa.time64(unit), f"time({digits})", of_day, clock(unit)))
            spans = ticks(unit, [0, -1, 3, -100_000])
            some.append(Rounded(pa.duration(unit), f"interval({digits})", spans, clock(unit)))
    return some


CASES = cases()
KEYS = [case for case in CASES if case.postgres[-3:] != "(6)"]


def array(case: Rounded, rows: int) -> pa.Array:
    values = [case.values[row % len(case.values)] for row in range(rows)]
    if pa.types.is_temporal(case.type):
        return pa.array(values, pa.int64()).cast(case.type)
    return pa.array(values, case.type)


class Values(OnServer):
    def write(self, **columns: pa.Array) -> None:
        table = pa.table(columns)
        write_ipc(self.folder / "rows.arrow", table.to_batches(), table.schema)
        parquet.write_table(table, self.folder / "rows.parquet")

    def test_they_are_rounded_as_the_server_rounds_their_text(self):
        rows = max(len(case.values) for case in CASES)
        names = [f"c{place}" for place in range(len(CASES))]
        self.make(**{name: case.postgres for name, case in zip(names, CASES, strict=True)})
        arrays = [array(case, rows) for case in CASES]
        self.write(id=pa.array(range(rows)), **dict(zip(names, arrays, strict=True)))
        texts = [
            (row, *(case.text(case.values[row % len(case.values)]) for case in CASES))
            for row in range(rows)
        ]
        for file in ("rows.arrow", "rows.parquet"):
            for wire in ("binary", "text"):
                with self.subTest(file=file, wire=wire):
                    self.assert_loaded(texts, file, options=["--round", f"--wire={wire}"])

    def test_they_are_routed_by_what_they_are_rounded_to(self):
        for case in KEYS:
            with self.subTest(type=str(case.type), onto=case.postgres):
                columns = sql.SQL(f"id int, k {case.postgres}")
                self.make_by(columns, "k")
                count = len(case.values)
                self.write(id=pa.array(range(count)), k=array(case, count))
                texts = [(row, case.text(value)) for row, value in enumerate(case.values)]
                self.assert_loaded(texts, "rows.parquet", options=["--round"])

    def test_values_that_are_out_of_range_are_refused(self):
        for of, postgres, bad, message in (
            (pa.float64(), "numeric(4,2)", 99.995, "numeric field overflow"),
            (pa.float64(), "numeric(4,2)", math.inf, "numeric field overflow"),
            (pa.float64(), "integer", 1.5, "1.5 is not an integer"),
            (pa.float64(), "real", 1e39, "1e+39 is out of range for real"),
            (pa.decimal256(76, 0), "real", Decimal(10) ** 39, "is out of range for real"),
            (pa.time64("ns"), "time", -1, "-1 is out of range for time"),
            (pa.timestamp("us"), "date", 1, "has a time, which date cannot hold"),
            (pa.timestamp("us"), "timestamp", -(2**62), "is out of range for timestamp"),
            (pa.duration("us"), "interval(0)", 2**63 - 1, "is out of range for interval"),
        ):
            with self.subTest(type=str(of), onto=postgres):
                self.make(v=postgres)
                self.write(id=pa.array([1]), v=array(Rounded(of, postgres, [bad]), 1))
                self.refuse("rows.arrow", message=[message], options=["--round"])

    def test_the_hint_names_the_option_first(self):
        for of, postgres, bad in (
            (pa.float64(), "numeric(4,2)", 0.125),
            (pa.int64(), "double precision", 2**53 + 1),
            (pa.timestamp("ns"), "timestamp", 1),
            (pa.time64("us"), "time(0)", 1),
            (pa.duration("ns"), "interval", 1),
            (pa.decimal128(9, 1), "real", Decimal("1.5")),
        ):
            with self.subTest(type=str(of), onto=postgres):
                self.make(v=postgres)
                self.write(id=pa.array([1]), v=array(Rounded(of, postgres, [bad]), 1))
                message = self.refuse(
                    "rows.parquet", message=["HINT:  To round such values: pgsluice"]
                )
                self.assertRegex(message, r"(?m)^HINT:  To round .*\bload rows.parquet .*--round$")
                if not pa.types.is_decimal(of):
                    self.assertRegex(message, r"(?s)--round\n.*--reject-file")
        self.make(v="integer")
        self.write(id=pa.array([1]), v=pa.array([1.5]))
        self.assertNotIn("--round", self.refuse("rows.parquet", message=["is not an integer"]))

    def test_the_server_rounds_what_is_text(self):
        self.make(v="numeric(4,2)")
        (self.folder / "rows.csv").write_text("1,0.125\n")
        (self.folder / "rows.ndjson").write_text('{"id": 1, "v": 0.125}\n')
        for file in ("rows.csv", "rows.ndjson"):
            for options in ([], ["--round"]):
                self.assert_loaded([(1, "0.13")], file, options=options)
