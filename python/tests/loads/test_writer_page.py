"""The examples of the page on `Writer` and `copy` run, one after the other."""

import unittest
from unittest.mock import patch

from .test_coming_from import InShop, python
from .test_manual import EXAMPLE, MANUAL


class WriterPage(InShop):
    def test_examples_run(self):
        examples = EXAMPLE.findall((MANUAL / "writer.md").read_text())
        self.assertGreater(len(examples), 3)
        names: dict[str, object] = {}
        with patch("builtins.print"):
            for example in examples:
                # Tuples have the columns of the table.
                python(example, names)()
        rows = self.connection.execute("SELECT count(*) FROM orders").fetchone()
        self.assertEqual(rows[0], 111)


if __name__ == "__main__":
    unittest.main()
