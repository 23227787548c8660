"""The spellings that dump_hash_vectors.py asks the server about.

Ends of ranges, powers of two and their neighbours, every length of string, awkward forms, and
random values of a fixed seed.

Only spellings that every server version from 13 to 18 reads alike (no hexadecimal integers).
"""

import itertools
import string
import uuid
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

import vector_bytes
import vector_containers
import vector_numbers
from vector_line import Line

ALPHANUMERIC = string.ascii_letters + string.digits
CHARACTERS = ALPHANUMERIC + " .,-_'\"\\\t\n\r" + "äßéñ€漢字ひ𝄞😀\u0301\ufeff"
ZONES = (0, 19800, -12600, 45900, -39600, 1140)
EPOCH = date(2000, 1, 1)


def vectors(rng: Random) -> dict[str, list[Line]]:
    """Return the lines of each type."""
    lines = {
        "bool": list(booleans()),
        "int2": list(integers(rng, "int2", 16)),
        "int4": list(integers(rng, "int4", 32)),
        "int8": list(integers(rng, "int8", 64)),
        "text": [Line("text", "native", text) for text in strings(rng, 300)],
        "varchar": list(varchars(rng)),
        "bpchar": list(bpchars(rng)),
        "uuid": list(uuids(rng)),
        "date": list(dates(rng)),
        "timestamp": list(timestamps(rng)),
        "timestamptz": list(timestamptzs(rng)),
        "numeric": list(vector_numbers.numerics(rng)),
        "float4": list(vector_numbers.floats(rng, "float4", 24, 126)),
        "float8": list(vector_numbers.floats(rng, "float8", 53, 1022)),
        "oid": list(vector_numbers.oids(rng)),
        "pg_lsn": list(vector_numbers.lsns(rng)),
        "char": list(vector_bytes.chars()),
        "name": list(vector_bytes.names(strings(rng, 70))),
        "bytea": list(vector_bytes.byteas(rng)),
        "macaddr": list(vector_bytes.macaddrs(rng)),
        "macaddr8": list(vector_bytes.macaddr8s(rng)),
        "inet": list(vector_bytes.networks(rng, "inet")),
        "cidr": list(vector_bytes.networks(rng, "cidr")),
        "time": list(times(rng)),
        "timetz": list(timetzs(rng)),
        "interval": list(intervals(rng)),
    }
    return lines | vector_containers.containers(rng, lines)


def booleans() -> Iterator[Line]:
    """Yield every accepted word in every case, between blanks."""
    words = [w[:n] for w in ("true", "false", "yes", "no") for n in range(1, len(w) + 1)]
    for word in [*words, "on", "of", "off", "1", "0"]:
        for cased in itertools.product(*(dict.fromkeys((c, c.upper())) for c in word)):
            for left, right in itertools.product(("", " ", "\t\n"), repeat=2):
                yield Line("bool", "native", left + "".join(cased) + right)
    for text in ("", " ", "o", "tr ue", "truee", "2", "01", "ja", "on off", "\vt", "null"):
        yield Line("bool", "server", text)


def integers(rng: Random, name: str, bits: int) -> Iterator[Line]:
    """Yield whole numbers of any width up to `bits`, and numbers that do not fit."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    values = [sign * (2**n) + d for n in range(bits) for sign in (1, -1) for d in (-1, 0, 1)]
    values += [rng.getrandbits(rng.randint(1, bits)) * rng.choice((1, -1)) for _ in range(1500)]
    for value in values:
        if low <= value <= high:
            yield Line(name, "native", str(value))
            yield Line(name, "native", spelled(rng, value))
        else:
            yield Line(name, "server", str(value))
    for text in ("", " ", "-", "+", "1 2", "1.0", "1e3", "--1", "- 1", "abc", "1,000", "\v5"):
        yield Line(name, "server", text)


def spelled(rng: Random, value: int) -> str:
    """Return the same number with another sign, leading zeros or blanks."""
    sign = "-" if value < 0 else rng.choice(("", "+"))
    left, right = (rng.choice(("", "", " ", "\t ", "\r\n")) for _ in range(2))
    return f"{left}{sign}{'0' * rng.choice((0, 1, 3, 25))}{abs(value)}{right}"


def strings(rng: Random, longest: int) -> Iterator[str]:
    """Yield every length up to `longest` bytes, then shorter ones with wider characters."""
    for length in range(longest + 1):
        yield "".join(rng.choice(ALPHANUMERIC) for _ in range(length))
    for length in range(1000):
        yield "".join(rng.choice(CHARACTERS) for _ in range(length % 30))
    yield from (" ", "  ", "a ", " a", "\\N", "\\.", "NULL", "\x01", "\x7f", "e\u0301", "é")


def varchars(rng: Random) -> Iterator[Line]:
    """Yield strings that fit, and strings that the server truncates or rejects."""
    for text in strings(rng, 40):
        for limit in (None, max(1, len(text)), rng.choice((1, 2, 10, 30))):
            yield limited("varchar", limit, text, len(text))
    yield Line("varchar(3)", "server", "abc  ", 7)


def bpchars(rng: Random) -> Iterator[Line]:
    """Yield strings with and without trailing blanks."""
    for plain in strings(rng, 40):
        text = plain + " " * rng.choice((0, 0, 1, 20))
        for limit in (None, max(1, len(plain)), rng.choice((1, 2, 10, 30))):
            yield limited("bpchar", limit, text, len(text.rstrip(" ")))


def limited(name: str, limit: int | None, text: str, length: int) -> Line:
    """Return the line of a string of this length, in a type with that limit."""
    if limit is None:
        return Line(name, "native", text)
    lane = "native" if length <= limit else "server"
    return Line(f"{name}({limit})", lane, text, limit + 4)


def uuids(rng: Random) -> Iterator[Line]:
    """Yield random and extreme values in all accepted spellings."""
    values = [0, 1, 2**128 - 1, *(1 << n for n in range(128))]
    values += [rng.getrandbits(128) for _ in range(1000)]
    for value in values:
        digits = f"{value:032x}"
        groups = [digits[n : n + 4] for n in range(0, 32, 4)]
        loose = groups[0] + "".join(rng.choice(("", "-")) + group for group in groups[1:])
        canonical = str(uuid.UUID(int=value))
        other = rng.choice((digits, canonical.upper(), loose, f"{{{canonical}}}", f"{{{loose}}}"))
        yield Line("uuid", "native", canonical)
        yield Line("uuid", "native", other)
    for text in (
        "",
        "{}",
        digits[1:],
        digits + "0",
        "-" + digits,
        digits + "-",
        " " + digits,
        "{" + digits,
        digits + "}",
        digits[:2] + "-" + digits[2:],
        "g" + digits[1:],
    ):
        yield Line("uuid", "server", text)


def dates(rng: Random) -> Iterator[Line]:
    """Yield ISO dates from the year 1 to 9999, and texts that are not dates."""
    values = [date.min, date.max, EPOCH, date(1970, 1, 1), date(1582, 10, 10)]
    values += [date(year, *day) for year in range(1, 10000, 50) for day in ((2, 28), (3, 1))]
    values += [date(year, 2, 29) for year in (4, 400, 1600, 1996, 2000, 2024, 2400, 9996)]
    values += [EPOCH + sign * timedelta(2**n) for n in range(20) for sign in (1, -1)]
    values += [random_date(rng) for _ in range(1000)]
    for value in values:
        yield Line("date", "native", value.isoformat())
    yield Line("date", "native", "infinity")
    yield Line("date", "native", "-infinity")
    for text in (
        "Infinity",
        "2000-01-01 BC",
        "10000-01-01",
        "5874897-12-31",
        "January 8, 1999",
        "2023-02-29",
        "2000-13-01",
        "2000-00-10",
        "20240102",
        "J2451545",
        "0000-01-01",
        "2024-1-2",
        " 2024-01-02",
        "2024-01-02 03:04:05",
        "",
        "2024/01/02",
        "99-01-02",
        "4714-11-24 BC",
        "5874898-01-01",
    ):
        yield Line("date", "server", text)


def random_date(rng: Random) -> date:
    """Return any day, mostly of the last and this century."""
    if rng.random() < 0.5:
        return date.fromordinal(rng.randint(1, date.max.toordinal()))
    return date(1970, 1, 1) + timedelta(rng.randint(0, 30000))


def timestamps(rng: Random) -> Iterator[Line]:
    """Yield every precision, and values that would have to be rounded or rolled over."""
    for precision in (-1, 0, 1, 2, 3, 4, 5, 6) * 200:
        declared, digits = declare("timestamp", precision)
        text = local(rng, rng.randint(0, digits))
        yield Line(declared, "native", text, precision)
        if digits < 6:
            yield Line(declared, "server", local(rng, digits + 1), precision)
    for text in ("0001-01-01", "9999-12-31 23:59:59.999999", "1999-12-31T23:59:59.999999"):
        yield Line("timestamp", "native", text)
    for text in ("infinity", "-infinity"):
        yield Line("timestamp", "native", text)
    for text in SERVER_TIMES:
        yield Line("timestamp", "server", text)
    for zone in ("Z", "+02", " -03:30", " UTC"):
        yield Line("timestamp", "server", "2024-02-29 12:34:56" + zone)


def timestamptzs(rng: Random) -> Iterator[Line]:
    """Yield every form of offset, in a fixed and in a changing session zone, and no offset."""
    for precision in (-1, 0, 3, 6) * 300:
        declared, digits = declare("timestamptz", precision)
        text = local(rng, rng.randint(0, digits))
        zone = rng.choice((*ZONES, None))
        if ":" in text:
            yield Line(declared, "native", text + offset(rng), precision, zone)
        if zone is not None:
            yield Line(declared, "native", text, precision, zone)
    for zone in (0, None):
        for text in (
            "2024-02-29 12:34:56+16",
            "2024-02-29 12:34:56 UTC",
            "2024-02-29 12:34+1",
            "2024-02-29 12:34:56 Europe/Berlin",
            "2024-02-29 12:34:56-01:60",
            "2024-02-29+01",
            *SERVER_TIMES,
        ):
            yield Line("timestamptz", "server", text, zone=zone)
    for text in ("2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-07-01", "2024-07-01T12:00"):
        yield Line("timestamptz", "server", text, zone=None)


SERVER_TIMES = (
    "Infinity",
    " -infinity",
    "",
    "2024-02-29 24:00:00",
    "2024-02-29 12:34:60",
    "2024-02-29 12:34:56.1234567",
    "2024-02-29 25:00",
    "2024-02-29 12:60",
    "2023-02-29 00:00",
    "2024-02-29  12:34:56",
    "2024-02-29 12:34:56 AM",
    "2024-02-29 12:34:56 BC",
    "20240229T123456",
    "Feb 29 12:34:56 2024",
    "2024-02-29 1:02:03",
    "2024-02-29t12:34:56",
    "2024-02-29 12:34:56.",
    "294276-12-31 23:59:59.999999",
    "4714-11-24 00:00:00 BC",
    "294277-01-01 00:00:00",
)


def times(rng: Random) -> Iterator[Line]:
    """Yield times of day in every precision, and the end of the day."""
    for precision in (-1, 0, 1, 2, 3, 4, 5, 6) * 200:
        declared, digits = declare("time", precision)
        yield Line(declared, "native", clock(rng, rng.randint(0, digits)), precision)
        if digits < 6:
            yield Line(declared, "server", clock(rng, digits + 1), precision)
    for text in ("24:00", "24:00:00", "24:00:00.000", "00:00", "23:59:59.999999"):
        yield Line("time", "native", text)
    for text in SERVER_CLOCKS:
        yield Line("time", "server", text)


def timetzs(rng: Random) -> Iterator[Line]:
    """Yield times of day with an offset, or in a fixed session zone."""
    for precision in (-1, 0, 3, 6) * 300:
        declared, digits = declare("timetz", precision)
        text = rng.choice((clock(rng, rng.randint(0, digits)), "24:00:00", "00:00"))
        zone = rng.choice((*ZONES, None))
        yield Line(declared, "native", text + offset(rng), precision, zone)
        if zone is not None:
            yield Line(declared, "native", text, precision, zone)
    for text in (*SERVER_CLOCKS, "12:34+16", "12:34+1", "12:34 UTC", "12:34-01:60"):
        yield Line("timetz", "server", text)


SERVER_CLOCKS = (
    "",
    "1:02",
    "24:00:01",
    "24:00:00.1",
    "25:00",
    "12:60",
    "12:34:60",
    "12:34:56.1234567",
    " 12:34",
    "12:34 AM",
    "123456",
    "T12:34:56",
    "allballs",
)


def clock(rng: Random, digits: int) -> str:
    """Return a time of day with this number of fractional digits of a second (none: 0)."""
    time = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
    if digits == 0:
        return time + rng.choice(("", f":{rng.randint(0, 59):02}"))
    return f"{time}:{rng.randint(0, 59):02}.{rng.randrange(10**digits):0{digits}}"


def intervals(rng: Random) -> Iterator[Line]:
    """Yield fields from years to microseconds, also rounded or dependent on the session."""
    for precision in (-1, 0, 3, 6) * 500:
        modifier = precision if precision < 0 else 0x7FFF0000 | precision
        declared, digits = declare("interval", precision)
        parts = [span(rng, digits, part) for part in range(4) if rng.random() < 0.5]
        if len(parts) > 1:
            yield Line(declared, "native", " ".join(parts), modifier)
            yield Line(declared, "server", "-" + " ".join(parts), modifier)
        else:
            text = (parts or ["00:00:00"])[0]
            yield Line(declared, "native", text, modifier)
            yield Line(declared, "native", "-" + text, modifier)
    for text in (
        "",
        "1",
        "P1Y2M3DT4H5M6S",
        "1-2",
        "1 week",
        "1 hour",
        "1.5 days",
        "1 day ago",
        "@ 1 day",
        "1 DAY",
        " 1 day",
        "1 day 1 year",
        "1 day 2 days",
        "1 day -00:00:01",
        "00:60:00",
        "00:00:00.1234567",
        "99999999 days",
        "2147483648 days",
    ):
        yield Line("interval", "server", text)


def span(rng: Random, digits: int, part: int) -> str:
    """Return one part of an interval: years, months, days, or a time."""
    number = rng.randrange(10 ** rng.randint(1, 7))
    if part == 3:
        hours, rest = rng.choice((rng.randint(0, 30), number)), clock(rng, rng.randint(0, digits))
        return f"{hours:02}{rest[2:]}"
    unit = (("year", "years"), ("mon", "mons", "month", "months"), ("day", "days"))[part]
    return f"{number} {rng.choice(unit)}"


def declare(name: str, precision: int) -> tuple[str, int]:
    """Return the declared type, and the fractional digits of a second that it keeps."""
    return (name, 6) if precision < 0 else (f"{name}({precision})", precision)


def local(rng: Random, digits: int) -> str:
    """Return a date and perhaps a time, with this many fractional digits of a second (none: 0)."""
    day = random_date(rng).isoformat()
    time = f"{rng.choice(' T')}{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
    if digits == 0:
        return day + rng.choice(("", time, f"{time}:{rng.randint(0, 59):02}"))
    return f"{day}{time}:{rng.randint(0, 59):02}.{rng.randrange(10**digits):0{digits}}"


def offset(rng: Random) -> str:
    """Return any offset from UTC that is read natively."""
    hours, minutes, seconds = rng.randint(0, 15), rng.randint(0, 59), rng.randint(0, 59)
    forms = (
        f"{hours:02}",
        f"{hours:02}:{minutes:02}",
        f"{hours:02}{minutes:02}",
        f"{hours:02}:{minutes:02}:{seconds:02}",
    )
    return rng.choice(("", " ")) + rng.choice(
        ("Z", "z", *("+" + f for f in forms), *("-" + f for f in forms))
    )
