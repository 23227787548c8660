"""All types of Spark, stored like the literals that the server reads, and like JDBC's rows."""

import unittest
from urllib.parse import urlsplit

from formats.place import TYPES

from .spark_place import OnCluster, session

# A column of the table, the values in Spark's SQL, PostgreSQL's literals, and whether Spark's JDBC
# writer can write the type.
COLUMNS = {
    "byte": ("smallint", ["127Y", "-128Y"], ["127", "-128"], True),
    "short": ("smallint", ["32767S", "-32768S"], ["32767", "-32768"], True),
    "int": ("integer", ["2147483647", "-5"], ["2147483647", "-5"], True),
    "long": ("bigint", ["9223372036854775807L", "0L"], ["9223372036854775807", "0"], True),
    "small_decimal": (
        "numeric(10,2)",
        ["cast('1234.50' AS decimal(10,2))", "cast('-0.01' AS decimal(10,2))"],
        ["1234.50", "-0.01"],
        True,
    ),
    "large_decimal": (
        "numeric",
        [
            "cast('12345678901234567890.123456789012345678' AS decimal(38,18))",
            "cast(0 AS decimal(38,18))",
        ],
        ["12345678901234567890.123456789012345678", "0.000000000000000000"],
        True,
    ),
    "float": ("real", ["cast('3.4e38' AS float)", "cast('NaN' AS float)"], ["3.4e38", "NaN"], True),
    "double": (
        "double precision",
        ["1.7976931348623157E308D", "cast('-Infinity' AS double)"],
        ["1.7976931348623157E308", "-Infinity"],
        True,
    ),
    "string": ("text", ["'naïve \\\\ \\t'", "''"], ["naïve \\ \t", ""], True),
    "varchar": ("varchar(5)", ["cast('abc' AS varchar(5))", "'é'"], ["abc", "é"], True),
    "binary": ("bytea", ["X'00FF5C'", "X''"], [r"\x00ff5c", r"\x"], True),
    "boolean": ("boolean", ["true", "false"], ["t", "f"], True),
    "date": ("date", ["date'0001-01-01'", "date'9999-12-31'"], ["0001-01-01", "9999-12-31"], True),
    "timestamp": (
        "timestamptz",
        [
            "timestamp'2026-03-29 02:30:00.123456 Asia/Tokyo'",
            "timestamp'1969-12-31 23:59:59.999999Z'",
        ],
        ["2026-03-28 17:30:00.123456+00", "1969-12-31 23:59:59.999999+00"],
        True,
    ),
    "timestamp_ntz": (
        "timestamp",
        ["timestamp_ntz'2026-03-29 02:30:00.5'", "timestamp_ntz'1600-02-29 00:00:00'"],
        ["2026-03-29 02:30:00.5", "1600-02-29 00:00:00"],
        True,
    ),
    "days": (
        "interval",
        ["interval '1 02:03:04.5' day to second", "interval -'90' second"],
        ["26:03:04.5", "-00:01:30"],
        False,
    ),
    "integers": (
        "integer[]",
        ["array(1, NULL, 3)", "cast(array() AS array<int>)"],
        ["{1,NULL,3}", "{}"],
        True,
    ),
    "strings": (
        "text[]",
        ["array('a,b', '\"')", "array(cast(NULL AS string))"],
        ['{"a,b","\\""}', "{NULL}"],
        True,
    ),
    "nested": (
        "integer[]",
        ["array(array(1, 2), array(3, 4))", "NULL"],
        ["{{1,2},{3,4}}", None],
        False,
    ),
    "struct": (
        "pair",
        ["named_struct('a', 1, 'b', 'x y')", "named_struct('a', cast(NULL AS int), 'b', '')"],
        ['(1,"x y")', '(,"")'],
        False,
    ),
    "document": (
        "jsonb",
        ["named_struct('k', array(1, 2), 'm', map('x', 1.5D))", "NULL"],
        ['{"k": [1, 2], "m": {"x": 1.5}}', None],
        False,
    ),
    "map": (
        "jsonb",
        ["map('k', 1, 'z', NULL)", "map('only', 2)"],
        ['{"k": 1, "z": null}', '{"only": 2}'],
        False,
    ),
    "json": ("jsonb", ["'{\"a\": [1, null]}'", "'5'"], ['{"a": [1, null]}', "5"], False),
    "uuid": (
        "uuid",
        ["'12345678-9abc-def0-1234-56789abcdef0'", "NULL"],
        ["12345678-9abc-def0-1234-56789abcdef0", None],
        False,
    ),
    "void": ("text", ["NULL", "NULL"], [None, None], False),
}


class Types(OnCluster):
    def setUp(self):
        super().setUp()
        self.connection.execute(TYPES)
        columns = ", ".join(f'"{name}" {kind[0]}' for name, kind in COLUMNS.items())
        self.make(f"id int NOT NULL, {columns}")

    def rows(self, table: str, names: list[str]) -> list[tuple]:
        listed = ", ".join(f'"{name}"::text' for name in names)
        return self.connection.execute(f"SELECT {listed} FROM {table} ORDER BY id").fetchall()

    def frame(self, names: list[str]):
        def select(row: int) -> str:
            values = ", ".join(f"{COLUMNS[name][1][row]} AS `{name}`" for name in names)
            return f"SELECT {row} AS id, {values}"

        nulls = ", ".join(f"NULL AS `{name}`" for name in names)
        return session().sql(f"{select(0)} UNION ALL {select(1)} UNION ALL SELECT 2, {nulls}")

    def write(self, names: list[str], **options: str) -> None:
        writer = self.frame(names).write.format("pgsluice").option("conninfo", self.url)
        writer.option("table", "events").options(**options).mode("append").save()

    def test_they_are_as_literals(self):
        self.write(list(COLUMNS))
        for name, (kind, _, literals, _) in COLUMNS.items():
            with self.subTest(name):
                expected = [
                    (self.connection.execute(f"SELECT %s::{kind}::text", (text,)).fetchone())
                    for text in [*literals, None]
                ]
                self.assertEqual(self.rows("events", [name]), expected)

    def test_they_are_as_jdbc_has_them(self):
        names = [name for name, (*_, is_of_jdbc) in COLUMNS.items() if is_of_jdbc]
        self.write(names, wire="text")
        url = urlsplit(self.url)
        place = f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}"
        writer = self.frame(names).write.format("jdbc").option("url", place)
        writer = writer.option("user", url.username).option("password", url.password)
        writer = writer.option("driver", "org.postgresql.Driver")
        writer.option("dbtable", "events_jdbc").mode("append").save()
        self.assertEqual(self.rows("events", names), self.rows("events_jdbc", names))


if __name__ == "__main__":
    unittest.main()
