"""Spellings of arrays, ranges and jsonb for dump_hash_vectors.py, from other types' spellings."""

import json
from collections.abc import Iterator
from random import Random

from vector_line import Line

ARRAYS = (
    "int4",
    "text",
    "bpchar",
    "bytea",
    "numeric",
    "timestamptz",
    "inet",
    "interval",
    "uuid",
    "macaddr8",
)
RANGES = {
    "int4range": "int4",
    "int8range": "int8",
    "numrange": "numeric",
    "daterange": "date",
    "tsrange": "timestamp",
    "tstzrange": "timestamptz",
}
BLANKS = ("", "", "", "", " ", "\t", " \n", "\r")


def containers(rng: Random, lines: dict[str, list[Line]]) -> dict[str, list[Line]]:
    """Return the lines of each type; `lines` are the lines of the possible element types."""
    elements = {name: native(lines[name]) for name in {*ARRAYS, *RANGES.values()}}
    ranges = {name: list(range_lines(rng, name, elements[of])) for name, of in RANGES.items()}
    jsonbs = list(jsonb_lines(rng))
    elements |= {"int4range": native(ranges["int4range"]), "jsonb": native(jsonbs)}
    arrays = {
        f"_{name}": list(array_lines(rng, f"_{name}", elements[name]))
        for name in (*ARRAYS, "int4range", "jsonb")
    }
    return ranges | {"jsonb": jsonbs} | arrays


def native(lines: list[Line]) -> list[str]:
    """Return the native spellings without a modifier, in UTC, if the server accepts them."""
    plain = (line for line in lines if line.lane != "server" and line.modifier == -1)
    return [line.text for line in plain if line.zone == 0]


def some(rng: Random, elements: list[str]) -> str:
    """Return any element, but mostly one of a few, so that containers begin alike."""
    few = elements[::97][:6]
    return rng.choice(few if rng.random() < 0.6 else elements)


def array_lines(rng: Random, name: str, elements: list[str]) -> Iterator[Line]:
    """Yield arrays of one dimension with and without quotes, NULL and blanks."""
    lane = "valid" if name == "_int4range" else "native"
    for _ in range(1400 if lane == "native" else 2600):
        items = [item(rng, some(rng, elements)) for _ in range(rng.choice((0, 1, 1, 2, 3, 5)))]
        left, right = rng.choice(BLANKS), rng.choice(BLANKS)
        yield Line(name, lane, f"{left}{{{','.join(items)}}}{right}")
    plain = quoted(rng, elements[5])
    for text in (
        "",
        " ",
        "{",
        "}",
        "{,}",
        f"{{{plain}",
        f"{{{plain},}}",
        f"{{{plain} {plain}}}",
        f"{{{plain}}}}}",
        f"{{{plain}}}x",
        f"[1:1]={{{plain}}}",
        f"{{{{{plain}}},{plain}}}",
        '{"',
        '{"}',
        '{"\\"}',
        "NULL",
    ):
        yield Line(name, "server", text)


def item(rng: Random, text: str) -> str:
    """Return an element of an array, or NULL, between blanks."""
    left, right = rng.choice(BLANKS), rng.choice(BLANKS)
    if rng.random() < 0.15:
        return left + rng.choice(("NULL", "null", "Null")) + right
    special = set('"\\{},') & set(text) or text.strip() != text or text.strip("\v\f") != text
    if special or text.lower() == "null" or not text or rng.random() < 0.3:
        text = quoted(rng, text)
    return left + text + right


def quoted(rng: Random, text: str) -> str:
    """Return the text in quotes, escaped where necessary and sometimes elsewhere."""
    odds = rng.choice((0, 0, 0.2))
    return '"' + "".join("\\" * (c in '"\\' or rng.random() < odds) + c for c in text) + '"'


def range_lines(rng: Random, name: str, elements: list[str]) -> Iterator[Line]:
    """Yield ranges with all brackets, in order, empty and infinite."""
    texts = [text for text in elements if "infinity" not in text.lower()]
    for _ in range(2000):
        bounds = [bound(rng, some(rng, texts)) for _ in range(2)]
        if rng.random() < 0.3:
            bounds[rng.randrange(2)] = ""
        if rng.random() < 0.2 and all(bounds):
            bounds[1] = bounds[0]
        brackets = rng.choice("[("), rng.choice(")]")
        left, right = rng.choice(BLANKS), rng.choice(BLANKS)
        yield Line(name, "valid", f"{left}{brackets[0]}{bounds[0]},{bounds[1]}{brackets[1]}{right}")
    for text in ("empty", " EMPTY\n", "(,)", "[,]", "[,)"):
        yield Line(name, "native", text)
    for text in ("", "emptyx", "[", "[,", "[,,]", "(,)x", "{,}", "[x,)", '["",]', '(",)', "(,\\)"):
        yield Line(name, "server", text)


def bound(rng: Random, text: str) -> str:
    """Return a value as a bound of a range, quoted or not."""
    if rng.random() < 0.2:
        return '"' + text.replace('"', '""').replace("\\", "\\\\") + '"'
    special = '"\\,()[]'
    return "".join("\\" * (c in special or rng.random() < 0.02) + c for c in text)


def jsonb_lines(rng: Random) -> Iterator[Line]:
    """Yield values of every kind, nested up to four levels, in loose spellings."""
    for depth in range(5):
        for _ in range(300):
            yield Line("jsonb", "native", jsonb(rng, depth))
    for text in ("[]", "{}", "0", "-0.0", "null", "true", "false", '""', "[[]]", "[{}]"):
        yield Line("jsonb", "native", text)
    for text in (
        "",
        " ",
        "nul",
        "TRUE",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "[1,]",
        "{1:2}",
        '{"a"}',
        '{"a":1,}',
        "'a'",
        '"\t"',
        '"\\x"',
        '"\\u0000"',
        '"\\ud83d"',
        '"\\udc00"',
        "1 2",
        "\v1",
    ):
        yield Line("jsonb", "server", text)


def jsonb(rng: Random, depth: int) -> str:
    """Return a value with at most `depth` levels of containers."""
    kind = rng.randrange(4 if depth == 0 else 8)
    left, right = rng.choice(BLANKS), rng.choice(BLANKS)
    if kind > 5:
        pairs = (
            f"{string(rng)}{rng.choice(BLANKS)}:{jsonb(rng, depth - 1)}"
            for _ in range(rng.choice((0, 1, 2, 2, 4, 12)))
        )
        text = f"{{{rng.choice(BLANKS)}{f',{rng.choice(BLANKS)}'.join(pairs)}}}"
    elif kind > 3:
        values = (jsonb(rng, depth - 1) for _ in range(rng.choice((0, 1, 2, 3))))
        text = f"[{rng.choice(BLANKS)}{','.join(values)}]"
    elif kind == 3:
        text = rng.choice(("null", "true", "false"))
    elif kind == 2:
        text = string(rng)
    else:
        text = number(rng)
    return left + text + right


def number(rng: Random) -> str:
    """Return a JSON number; zeros and exponents create equal ones."""
    whole = str(rng.randrange(10 ** rng.choice((1, 1, 1, 4, 30))))
    fraction = rng.choice(("", "", ".0", ".5", ".50", f".{rng.randrange(10**9)}"))
    exponent = rng.choice(("", "", "", "e0", "E+2", "e-3", "e100"))
    return rng.choice(("", "-")) + whole + fraction + exponent


def string(rng: Random) -> str:
    """Return a JSON string, short and often the same, with its characters escaped or not."""
    characters = 'aaab"\\/ \b\f\n\r\t\x01\x7fé€😀'
    text = "".join(rng.choice(characters) for _ in range(rng.choice((0, 1, 1, 2, 3, 80))))
    return json.dumps(text, ensure_ascii=rng.random() < 0.5).replace("/", rng.choice(("/", "\\/")))
