"""Spellings of numeric, real, double precision, oid and pg_lsn for dump_hash_vectors.py."""

from collections.abc import Iterator
from decimal import Decimal, getcontext
from random import Random

from vector_line import Line

getcontext().prec = 2000
NAN = ("NaN", "nan", " NAN ")
INFINITIES = ("Infinity", "-Infinity", "inf", "-INF", "+infinity", "+inf\t")
NO_NUMBERS = ("", " ", ".", "-", "e5", "1e", "1 2", "1,5", "--1", "1.2.3", "abc", "\v1", "- 1")


def numerics(rng: Random) -> Iterator[Line]:
    """Yield any scale and precision, declared or not, and numbers that are rounded or too large."""
    for _ in range(1500):
        text = decimal(rng)
        yield Line("numeric", "native", text)
        yield Line("numeric", "native", respelled(rng, text))
    for power in range(-60, 60):
        for text in (f"1e{power}", f"-9e{power}", f"{10**20 + 1}e{power}"):
            yield Line("numeric", "native", text)
    for precision, scale in ((1, 0), (4, 2), (12, 4), (38, 10), (18, 18), (3, -2), (3, 5)):
        for text in ("0", "0.00", *NAN, *(decimal(rng) for _ in range(100)), *small(rng, scale)):
            yield scaled(precision, scale, text)
    for text in (*NAN, *INFINITIES):
        yield Line("numeric", "native", text)
    for text in (*NO_NUMBERS, "+NaN", "1e1000", "1e-1001", "infinit"):
        yield Line("numeric", "server", text)


def scaled(precision: int, scale: int, text: str) -> Line:
    """Return the number in a column of that modifier. A scale beyond the precision is new in 15."""
    value = Decimal(text.strip())
    fits = value.is_nan() or (
        value == value.quantize(Decimal(1).scaleb(-scale))
        and abs(value) < Decimal(10) ** (precision - scale)
    )
    modifier = (precision << 16 | scale & 0x7FF) + 4
    declared = f"numeric({precision},{scale})"
    return Line(declared, "native" if fits else "server", text, modifier)


def small(rng: Random, scale: int) -> Iterator[str]:
    """Yield numbers about as long as the scale."""
    for _ in range(100):
        yield str(Decimal(rng.randrange(20000) - 10000).scaleb(-scale - rng.randint(-1, 1)))


def decimal(rng: Random) -> str:
    """Return a number of up to 120 digits, many of them zeros."""
    digits = "0123456789" if rng.random() < 0.5 else "00000000001"
    whole = "".join(rng.choice(digits) for _ in range(rng.choice((1, 3, 8, 40))))
    fraction = "".join(rng.choice(digits) for _ in range(rng.choice((0, 0, 2, 6, 80))))
    return rng.choice(("", "-")) + whole + ("." + fraction if fraction else "")


def respelled(rng: Random, text: str) -> str:
    """Return an equal number with another sign, zeros, exponent or surrounding blanks."""
    exponent = rng.randint(-30, 30)
    digits = f"{Decimal(text).scaleb(exponent):f}"
    sign = "" if digits.startswith("-") else rng.choice(("", "+"))
    zeros = rng.choice(("", "0", "000")) if "." in digits else ""
    e = rng.choice("eE") + rng.choice(("+", "") if exponent < 0 else ("",)) + str(-exponent)
    left, right = (rng.choice(("", "", " ", "\t\n")) for _ in range(2))
    return left + sign + digits + zeros + e + right


def floats(rng: Random, name: str, bits: int, exponents: int) -> Iterator[Line]:
    """Yield numbers of every magnitude, as short as possible, or with more digits than count."""
    for _ in range(1500):
        value = rng.getrandbits(bits) / 2 ** (bits - 1) + 2 ** (1 - bits)
        value *= 2.0 ** rng.choice((rng.randint(2 - exponents, exponents), rng.randint(-10, 40)))
        value *= rng.choice((1, -1))
        yield Line(name, "native", repr(value))
        yield Line(name, "native", respelled(rng, f"{Decimal(value):f}"[:300]))
    for text in ("0", "-0", "0.0e5", "-0e-999", ".5", "5.", "1E+20", *NAN, *INFINITIES):
        yield Line(name, "native", text)
    for text in (*NO_NUMBERS, "0x1p3", "1e999", "-1e999", "1e-999", "infinit", "-nan"):
        if text != "-nan":
            yield Line(name, "server", text)


def oids(rng: Random) -> Iterator[Line]:
    """Yield unsigned numbers."""
    values = [0, 2**32 - 1, *(2**n + d for n in range(2, 32) for d in (-1, 0, 1))]
    for value in [*values, *(rng.getrandbits(rng.randint(1, 32)) for _ in range(1200))]:
        blanks = (rng.choice(("", "", " ", "\t")) for _ in range(2))
        yield Line("oid", "native", str(value).join(blanks))
    for text in ("", " ", "4294967296", "-1", "+1", "1.0", "abc", "1 2", "00"):
        yield Line("oid", "server", text)


def lsns(rng: Random) -> Iterator[Line]:
    """Yield positions in the write-ahead log."""
    for _ in range(1500):
        halves = [f"{rng.getrandbits(rng.randint(1, 32)):{rng.choice('xX')}}" for _ in range(2)]
        yield Line("pg_lsn", "native", "/".join(halves))
    for text in ("0/0", "ffffffff/FFFFFFFF", "00000001/00000000", "80000000/0", "7fffffff/1"):
        yield Line("pg_lsn", "native", text)
    for text in ("", "/", "1/", "/1", "1", " 1/1", "1/1 ", "123456789/0", "g/0", "1/2/3"):
        yield Line("pg_lsn", "server", text)
