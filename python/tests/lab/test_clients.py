"""The drivers: the statements that they send, and the transactions."""

import io
import tempfile
import unittest
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import clients

INSERT = "INSERT INTO t (a, b) VALUES (%s, %s)"


class Server:
    """Stands for a connection and its cursor, and keeps the statements."""

    def __init__(self):
        self.sent = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def cursor(self):
        return self

    @contextmanager
    def transaction(self):
        self.sent.append("BEGIN")
        yield
        self.sent.append("COMMIT")

    def execute(self, statement, values):
        self.sent.append((statement, values))

    def executemany(self, statement, rows):
        self.sent.append((statement, rows))

    @contextmanager
    def copy(self, statement):
        self.sent.append(statement)
        yield self

    def write(self, data):
        self.sent.append(data)


class Clients(unittest.TestCase):
    def statements(self, way: str, batch: int) -> list:
        """Return the statements for three rows."""
        server = Server()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.txt"
            file.write_text("1\tone\n2\t\\N\n3\tthree\n")
            args = [way, "--table", "t", "--columns", "(a, b)", "--batch", str(batch), str(file)]
            with (
                patch.object(clients.psycopg, "connect", return_value=server) as connect,
                redirect_stdout(io.StringIO()) as output,
            ):
                self.assertEqual(clients.main([*args, "dbname=x"]), 0)
        connect.assert_called_once_with("dbname=x", autocommit=True)
        self.assertRegex(output.getvalue(), r"^3 rows in [0-9.]+ s: [0-9.]+ rows/s\n$")
        return server.sent

    def test_single_inserts_have_no_transaction_around_them(self):
        rows = (["1", "one"], ["2", None], ["3", "three"])
        self.assertEqual(self.statements("insert", 1), [(INSERT, row) for row in rows])

    def test_inserts_of_a_batch_are_one_transaction(self):
        one, two, three = (INSERT, ["1", "one"]), (INSERT, ["2", None]), (INSERT, ["3", "three"])
        self.assertEqual(
            self.statements("insert", 2), ["BEGIN", one, two, "COMMIT", "BEGIN", three, "COMMIT"]
        )

    def test_executemany_is_told_of_a_batch_at_once(self):
        two, one = [["1", "one"], ["2", None]], [["3", "three"]]
        self.assertEqual(
            self.statements("executemany", 2),
            ["BEGIN", (INSERT, two), "COMMIT", "BEGIN", (INSERT, one), "COMMIT"],
        )

    def test_values_of_a_batch_are_one_statement(self):
        self.assertEqual(
            self.statements("values", 2),
            [(f"{INSERT}, (%s, %s)", ["1", "one", "2", None]), (INSERT, ["3", "three"])],
        )

    def test_copy_sends_the_lines_as_they_are(self):
        statement = "COPY t (a, b) FROM STDIN"
        self.assertEqual(
            self.statements("copy", 2), [statement, "1\tone\n2\t\\N\n", statement, "3\tthree\n"]
        )

    def test_escapes_are_those_of_copy(self):
        line = "a\\tb\\n\t\\\\N\t\\101\\x42\\q\t\\N\n"
        self.assertEqual(clients.fields(line), ["a\tb\n", "\\N", "ABq", None])

    def test_a_batch_of_nothing_is_refused(self):
        with self.assertRaises(SystemExit), patch("sys.stderr"):
            clients.main(["copy", "--table", "t", "--batch", "0", "rows.txt", ""])


if __name__ == "__main__":
    unittest.main()
