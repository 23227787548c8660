"""The examples of two pages run, one after the other, into the manual's table."""

import re
import unittest
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pgsluice
import psycopg
from formats.place import server

from .place import Limited

MANUAL = Path(__file__).parents[3] / "docs/manual"
EXAMPLE = re.compile("```python\n(.*?)```", re.DOTALL)
SHOP = """
    DROP TABLE IF EXISTS orders, orders_old;
    CREATE TABLE orders (id bigint, placed date, total numeric(10,2) NOT NULL,
        PRIMARY KEY (id, placed)) PARTITION BY RANGE (placed);
    CREATE TABLE orders_2026 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
        PARTITION BY HASH (id);
    CREATE TABLE orders_2026_0 PARTITION OF orders_2026 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE orders_2026_1 PARTITION OF orders_2026 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    CREATE TABLE orders_old (id bigint, placed date, total numeric(10,2));
    INSERT INTO orders_old SELECT 5000 + n, date '2026-05-31' + n % 2, n
    FROM generate_series(1, 200) AS n;
"""
# The functions that the examples call with `dbname=shop`.
FUNCTIONS = (
    "load",
    "plan",
    "verify",
    "tree",
    "ledger",
    "ledger_finish",
    "ledger_show",
    "leaf",
)


def in_shop(function):
    def call(*args, **options):
        if "dbname=shop" not in args:
            raise AssertionError(f"an example names another server: {args}")
        return function(*(server() if arg == "dbname=shop" else arg for arg in args), **options)

    return call


class Manual(Limited):
    def run_examples(self, page):
        """Run the examples of a page, and return the number of rows in the table."""
        examples = EXAMPLE.findall((MANUAL / page).read_text())
        self.assertGreater(len(examples), 0)
        with psycopg.connect(server(), autocommit=True) as connection:
            connection.execute(SHOP)
            with ExitStack() as patched:
                for name in FUNCTIONS:
                    function = in_shop(getattr(pgsluice, name))
                    patched.enter_context(patch.object(pgsluice, name, function))
                patched.enter_context(patch("builtins.print"))
                names = {}
                for example in examples:
                    exec(example, names)
            rows = connection.execute("SELECT count(*) FROM orders").fetchone()
            connection.execute("DROP TABLE orders, orders_old")
        return rows[0]

    def test_examples_of_python_run(self):
        self.assertEqual(self.run_examples("python.md"), 2103)

    def test_examples_of_participants_run(self):
        self.assertEqual(self.run_examples("participants.md"), 3)


if __name__ == "__main__":
    unittest.main()
