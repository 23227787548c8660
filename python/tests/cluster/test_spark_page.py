"""The examples of the page on Spark run, one after the other, into the manual's table."""

import re
import tempfile
import time
import unittest
from pathlib import Path

import pgsluice

from .spark_place import OnCluster, session

PAGE = Path(__file__).parents[3] / "docs/manual/spark.md"
EXAMPLE = re.compile("```python\n(.*?)```", re.DOTALL)
ORDERS = """
    CREATE TABLE orders (id bigint, placed date, total numeric(10,2) NOT NULL,
        PRIMARY KEY (id, placed)) PARTITION BY RANGE (placed);
    CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2026-07-01');
    CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2026-07-01') TO ('2027-01-01');
"""
FRAME = 100_000


class Page(OnCluster):
    def test_examples_run(self):
        session()
        self.connection.execute(ORDERS)
        checkpoint = self.enterContext(tempfile.TemporaryDirectory(dir="/var/tmp"))
        frame, stream = EXAMPLE.findall(PAGE.read_text())
        names: dict[str, object] = {}
        for _ in range(2):
            exec(self.here(frame, checkpoint), names)
            self.assertEqual(self.count("orders"), FRAME)
        (load,) = pgsluice.ledger(self.url)
        self.assertEqual((load.id, load.state, load.rows), ("orders of 2026", "finished", FRAME))
        exec(self.here(stream, checkpoint), names)
        query = names["stream"]
        while self.count("orders") < FRAME + 1000:
            self.assertIsNone(query.exception())
            time.sleep(0.1)
        query.stop()

    def here(self, example: str, checkpoint: str) -> str:
        """Return an example with the server and the folder of this test."""
        self.assertIn('"dbname=shop"', example)
        example = example.replace('"dbname=shop"', repr(self.url))
        return example.replace("/var/lib/shop/checkpoint", checkpoint)


if __name__ == "__main__":
    unittest.main()
