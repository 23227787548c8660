"""Values in CSV and COPY text, whose meaning COPY itself defines."""

import csv
import io

from bench.correctness.case import Case, hashed, lines


def written(*rows: tuple[object, ...]) -> bytes:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


# Enough leaves and rows for pgsluice to route the rows of COPY text.
MANY, MANY_TIMES = 130, 20_000
LATIN1 = ("id,note", "1,caf\xe9", "2,\xa3 5 \xb1 \xbd", "3,na\xefve")

CASES = [
    Case(
        "quotes",
        "CSV: quoted delimiters, line breaks and doubled quotes",
        hashed("id bigint, note text, other text"),
        "csv",
        lines(
            "id,note,other",
            '1,"a,b","say ""hi"""',
            '2,"two\nlines",""","""',
            "3, leading and trailing ,'single'",
            '4,"""",""""""',
        ),
        ("id", "note", "other"),
    ),
    Case(
        "empty",
        'CSV: an empty field (NULL) and `""` (an empty string)',
        hashed("id bigint, note text, other text"),
        "csv",
        lines("id,note,other", "1,,a", '2,"",', '3,x,""'),
        ("id", "note", "other"),
    ),
    Case(
        "words",
        "CSV: the words `NA`, `null`, `None` and `nan` in a `text` column",
        hashed("id bigint, word text"),
        "csv",
        lines("id,word", "1,NA", "2,null", "3,None", "4,nan", "5,n/a"),
        ("id", "word"),
    ),
    Case(
        "codes",
        "CSV: the codes `007` and `1.50` in a `text` column",
        hashed("id bigint, code text"),
        "csv",
        lines("id,code", "1,007", "2,1.50", "3,00"),
        ("id", "code"),
    ),
    Case(
        "dot",
        "CSV: `\\.` alone on a line",
        hashed("note text", "note"),
        "csv",
        lines("note", "before", "\\.", "after"),
        ("note",),
    ),
    Case(
        "crlf",
        "CSV: lines that end in CRLF, and a line break in quotes",
        hashed("id bigint, note text"),
        "csv",
        lines("id,note", "1,a", '2,"b\r\nc"', "3,", end="\r\n"),
        ("id", "note"),
    ),
    Case(
        "latin1",
        "CSV in Latin-1",
        hashed("id bigint, note text"),
        "csv",
        lines(*LATIN1, encoding="latin-1"),
        ("id", "note"),
        encoding="latin1",
    ),
    Case(
        "sjis",
        "CSV in Shift JIS",
        hashed("id bigint, note text"),
        "csv",
        lines("id,note", "1,\u8868", "2,\u30bd\u80fd", encoding="shift_jis"),
        ("id", "note"),
        encoding="sjis",
    ),
    Case(
        "mark",
        "CSV with a byte order mark and a header",
        hashed("id bigint, note text"),
        "csv",
        lines("\ufeffid,note", "1,a", "2,b"),
        ("id", "note"),
    ),
    Case(
        "numeric",
        "CSV: `numeric` with 41 digits, and trailing zeros",
        hashed("id bigint, number numeric"),
        "csv",
        lines("id,number", "1,12345678901234567890.123456789012345678901", "2,1e-30", "3,0.10"),
        ("id", "number"),
    ),
    Case(
        "float",
        "CSV: `double precision` NaN, -0, infinity, the smallest and the largest",
        hashed("id bigint, number double precision"),
        "csv",
        lines(
            "id,number",
            "1,NaN",
            "2,-0",
            "3,5e-324",
            "4,1.7976931348623157e308",
            "5,-Infinity",
            "6,0.1",
            "7,",
        ),
        ("id", "number"),
    ),
    Case(
        "zones",
        "CSV: `timestamptz` with several zones",
        hashed("id bigint, at timestamptz"),
        "csv",
        lines(
            "id,at",
            "1,2026-03-29 02:30:00+05:45",
            "2,2026-03-29T02:30:00.123456Z",
            "3,2026-01-01 00:00:00-08",
        ),
        ("id", "at"),
    ),
    Case(
        "dates",
        "CSV: `date` infinity, before Christ, and after the year 9999",
        hashed("id bigint, day date"),
        "csv",
        lines("id,day", "1,infinity", "2,0044-03-15 BC", "3,12026-01-01", "4,2026-02-28"),
        ("id", "day"),
    ),
    Case(
        "nested",
        "CSV: `text[]` with NULL and quotes, and `jsonb`",
        hashed("id bigint, tags text[], doc jsonb"),
        "csv",
        lambda: written(
            ("id", "tags", "doc"),
            (1, r'{a,NULL,"NULL","x\"y","{}",""}', r'{"b": 1.0, "a": [null, "q\"q", {}]}'),
            (2, "{}", "null"),
            (3, "{{a,b},{c,d}}", '"text"'),
        ),
        ("id", "tags", "doc"),
    ),
    Case(
        "escapes",
        "COPY text: `\\N`, backslashes and escapes",
        hashed("id bigint, note text, other text", leaves=MANY),
        "text",
        lines(
            "1\t\\N\ta\\tb",
            "2\t\\\\N\tx\\\\y",
            "3\t\tline\\nbreak",
            "4\t\\x41\\102\t\\q",
            "5\tnext\\\nline\t\\\\.",
        ),
        ("id", "note", "other"),
        times=MANY_TIMES,
    ),
    Case(
        "utf8",
        "CSV: invalid UTF-8 in one row, to be refused",
        hashed("id bigint, note text"),
        "csv",
        lambda: b"id,note\n1,good\n2,b\xff\xfed\n3,good\n",
        ("id", "note"),
        is_refused=True,
    ),
]
