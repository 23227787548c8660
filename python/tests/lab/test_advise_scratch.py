"""The scripts of the copies, and rows that are cut from a file."""

import io
import unittest
from pathlib import Path

from pgsluice_lab.advise import sample, scratch
from pgsluice_lab.advise.facts import Column, Facts, Node
from pgsluice_lab.advise.sample import Format
from pgsluice_lab.failure import LabError

LIKE = scratch.WHOLE
FACTS = Facts(
    "orders",
    [
        Node("sales.orders", kind="p", key="RANGE (day)"),
        Node('sales."O 1"', 0, 1, "p", 'HASH ("Id")', "FOR VALUES FROM ('a') TO ('b')"),
        Node(
            "sales.rest", 0, 1, bound="DEFAULT", unlogged=True,
            options=("fillfactor=70",), indexes=1,
        ),
        Node("sales.o10", 1, 2, bound="FOR VALUES WITH (modulus 1, remainder 0)", indexes=1),
    ],
    [
        Column('"Id"', default="nextval('sales.ids'::regclass)", sequence=True),
        Column("day", default="now()"),
        Column("twice", generated=True),
        Column("number", identity=True),
        Column("note"),
    ],
    ["USING btree (day)"],
)  # fmt: skip


class Scratch(unittest.TestCase):
    def statements(self, text: str) -> list[str]:
        lines = text.splitlines()
        self.assertEqual(lines[: len(scratch.BEGINNING)], scratch.BEGINNING)
        return lines[len(scratch.BEGINNING) :]

    def test_a_tree_is_made_whole_and_attached_from_the_bottom_up(self):
        self.assertEqual(
            self.statements(scratch.tree(FACTS)),
            [
                f"CREATE TABLE n0 (LIKE sales.orders {LIKE}) PARTITION BY RANGE (day);",
                f'CREATE TABLE n1 (LIKE sales."O 1" {LIKE}) PARTITION BY HASH ("Id");',
                f"CREATE UNLOGGED TABLE n2 (LIKE sales.rest {LIKE}) WITH (fillfactor = '70');",
                f"CREATE TABLE n3 (LIKE sales.o10 {LIKE});",
                "ALTER TABLE n1 ATTACH PARTITION n3 FOR VALUES WITH (modulus 1, remainder 0);",
                "ALTER TABLE n0 ATTACH PARTITION n1 FOR VALUES FROM ('a') TO ('b');",
                "ALTER TABLE n0 ATTACH PARTITION n2 DEFAULT;",
            ],
        )

    def test_defaults_and_identities_stay_behind(self):
        self.assertIn("EXCLUDING DEFAULTS EXCLUDING IDENTITY", LIKE)

    def test_a_tree_without_indexes(self):
        made = self.statements(scratch.tree(FACTS, indexes=False))
        self.assertEqual(made[3], f"CREATE TABLE n3 (LIKE sales.o10 {LIKE} EXCLUDING INDEXES);")

    def test_a_plain_table_has_the_indexes_of_a_leaf(self):
        self.assertEqual(
            self.statements(scratch.plain(FACTS)),
            [
                f"CREATE TABLE n0 (LIKE sales.orders {LIKE});",
                "CREATE INDEX ON n0 USING btree (day);",
            ],
        )

    def test_columns_that_the_input_lacks_take_nothing_from_sequences_of_the_user(self):
        self.assertEqual(
            self.statements(scratch.intake(FACTS, ["note"])),
            [
                "CREATE TABLE n0 (LIKE sales.orders);",
                "CREATE SEQUENCE numbers;",
                "ALTER TABLE n0 ALTER COLUMN \"Id\" SET DEFAULT nextval('numbers');",
                "ALTER TABLE n0 ALTER COLUMN day SET DEFAULT now();",
                "ALTER TABLE n0 DROP COLUMN twice;",
                "ALTER TABLE n0 ALTER COLUMN number SET DEFAULT nextval('numbers');",
            ],
        )

    def test_how_many_tables(self):
        self.assertEqual(scratch.tables(FACTS), 2 * 4 + 1 + 1)
        self.assertEqual(scratch.tables(Facts("t", [Node("public.t")])), 2)

    def test_errors_name_the_original(self):
        original = (
            'psql:/x/warm.sql:1: ERROR:  duplicate key value violates unique constraint "n3_pkey"\n'
            "CONTEXT:  COPY n0, line 7"
        )
        self.assertEqual(
            scratch.original(original, FACTS),
            'ERROR:  duplicate key value violates unique constraint "n3_pkey" of the copy of'
            " sales.o10\nCONTEXT:  COPY sales.orders, line 7",
        )
        self.assertEqual(scratch.original('"n9" is not ours', FACTS), '"n9" is not ours')


class Sample(unittest.TestCase):
    def records(self, data: bytes, form: Format) -> list[bytes]:
        return list(sample.records(io.BytesIO(data), form))

    def test_a_row_of_csv_may_have_newlines(self):
        data = b'1,"a\nb ""c""\n",x\n2,,y\n'
        self.assertEqual(self.records(data, Format("csv")), [b'1,"a\nb ""c""\n",x\n', b"2,,y\n"])
        other = Format("csv", quote="'")
        self.assertEqual(self.records(b"1,'\n',\"\n2\n", other), [b"1,'\n',\"\n", b"2\n"])

    def test_a_row_of_text_goes_on_behind_a_backslash(self):
        data = b"1\ta\\\nb\n2\tc\\\\\n3\n\\.\nnot data\n"
        self.assertEqual(self.records(data, Format()), [b"1\ta\\\nb\n", b"2\tc\\\\\n", b"3\n"])

    def test_a_last_row_without_a_newline(self):
        self.assertEqual(self.records(b"1\n2", Format()), [b"1\n", b"2"])

    def test_a_quote_that_is_never_closed_does_not_take_all_memory(self):
        rows = (b'x,"y' if number == 0 else b"a" * (1 << 20) for number in range(1_000_000))
        with self.assertRaises(LabError) as caught:
            next(sample.records(rows, Format("csv")))
        self.assertEqual(caught.exception.detail, 'It begins: x,"y')

    def test_options_of_copy(self):
        self.assertEqual(Format().copy, "(FORMAT text)")
        csv = Format.from_options(None, Path("x.CSV"), True, "\\t", "it's", "|", "")
        self.assertEqual(csv.copy, "(FORMAT csv, HEADER, DELIMITER '\t', NULL 'it''s', QUOTE '|')")
        text = Format.from_options("text", Path("x.csv"), True, "", "\\N", "", "")
        self.assertEqual(text.copy, r"(FORMAT text, NULL E'\\N')")

    def test_formats_that_are_not(self):
        for name, quote in (("xml", ""), (None, "'")):
            with self.assertRaises(LabError) as caught:
                Format.from_options(name, Path("x.txt"), False, "", None, quote, "")
            self.assertEqual(caught.exception.status, 2)

    def test_names_of_columns(self):
        self.assertEqual(
            sample.names('id, Day,"cust, omer","note"'), ["id", "day", '"cust, omer"', "note"]
        )

    def test_rows_of_the_table_come_from_all_over_it(self):
        large = Facts("t", [Node("public.t", rows=1_000_000, bytes=1 << 30)])
        self.assertEqual(
            sample.chosen(large, "a, b", 1_000),
            "SELECT a, b FROM public.t TABLESAMPLE SYSTEM (0.150000) REPEATABLE (1)"
            " ORDER BY md5(ctid::text || tableoid::text) LIMIT 1000",
        )
        small = Facts("t", [Node("public.t", rows=1_500, bytes=1 << 20)])
        self.assertNotIn("TABLESAMPLE", sample.chosen(small, "a", 1_000))
        wide = Facts("t", [Node("public.t", rows=1_000, bytes=1 << 30)])
        self.assertTrue(sample.chosen(wide, "a", 1_000).endswith(" LIMIT 250"))
        foreign = Facts("t", [Node("public.t", kind="f")])
        self.assertEqual(sample.chosen(foreign, "a", 5), "SELECT a FROM public.t LIMIT 5")


if __name__ == "__main__":
    unittest.main()
