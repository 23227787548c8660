"""No secret is printed or stored: neither a signature, nor a password, nor a secret key.

S3 answers 403 to HEAD for a URL that is signed for GET, so these loads also show that only GET is
used.
"""

import base64
import os
import shutil
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pgsluice
from formats.place import server

from .place import OnStores
from .servers import ACCOUNT_KEY, SECRET, Azure, Http, Moto, Seaweed, Store, free_ports, started

USER, PASSWORD = "visitor", "swordfish-of-the-visitor"
ROWS = b"".join(b"%d,a\n" % n for n in range(3000))
# Of several transactions, so that the load fails after the first of them.
LONG = b"".join(b"%d,%s\n" % (n, b"x" * 1000) for n in range(12_000)) + b"no number,x\n"
FILES = {
    "good.csv": ROWS,
    # Its first line is advised to be skipped.
    "bad.csv": b"id,name\n" + ROWS,
    "long.csv": LONG,
    "empty.csv": b"",
}


class HttpWithPassword(Http):
    """An HTTP server that asks for a password."""

    def command(self, port: int) -> list[str | Path]:
        rclone = shutil.which("rclone") or "rclone"
        own = ["--config", os.devnull, "--dir-cache-time", "0"]
        asks = ["--user", USER, "--pass", PASSWORD]
        return [rclone, "serve", "http", "--addr", f"127.0.0.1:{port}", *own, *asks, self.root]

    def make_bucket(self) -> bool:
        token = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request = Request(f"{self.url}/", headers={"Authorization": f"Basic {token}"})
        urlopen(request, timeout=20).close()
        return True

    def address(self, key: str) -> str:
        return super().address(key).replace("://", f"://{USER}:{PASSWORD}@")


class Secrets(OnStores):
    def setUp(self):
        super().setUp()
        self.make(name="text")
        self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")

    def run_all(self, store: Store, address: str, secrets: set[str]) -> list[str]:
        """Use an address in every command, and check what is printed and stored.

        Returns what loads printed.
        """
        secrets = secrets | {SECRET, PASSWORD, ACCOUNT_KEY}
        # One connection and little memory: the last rows are read after the first are committed.
        load = ("load", address, "-t", "loaded", "-j", "1", "--memory", "1MiB")
        rejects = ("--reject-file", self.folder / "bad", "--max-rejects", "1")
        printed = []
        for args in (
            (*load, "--load-id", "one"),
            (*load, "--load-id", "one"),
            (*load, "--load-id", "two", "--json", *rejects),
            (*load, "--once", "--json"),
            (*load, "--header=match"),
            (*load, address),
            ("plan", address, "-t", "loaded"),
            ("plan", address, "-t", "loaded", "--json"),
            ("verify", address, "-t", "loaded"),
            ("load", f"{address}x", "-t", "loaded"),
        ):
            done = self.run_from(store, *args, "--format", "csv")
            self.assert_secret(done.stdout + done.stderr, secrets)
            printed.append(done.stdout + done.stderr)
        for args in (
            ("ledger", "list"),
            ("ledger", "list", "--json"),
            ("ledger", "show", "one"),
            ("ledger", "show", "one", "--json"),
            ("ledger", "show", "two"),
        ):
            done = self.run_from(store, *args)
            self.assert_secret(done.stdout + done.stderr, secrets)
        self.assert_secret(self.ledger(), secrets)
        for file in self.folder.iterdir():
            self.assert_secret(file.read_text(), secrets)
        self.assert_secret(self.from_python(store, address), secrets)
        return printed

    def ledger(self) -> str:
        """Return all rows of all tables of the ledger as text."""
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'pgsluice'"
        tables = [name for (name,) in self.connection.execute(query)]
        return "\n".join(
            row
            for name in tables
            for (row,) in self.connection.execute(f'SELECT t::text FROM pgsluice."{name}" t')
        )

    def from_python(self, store: Store, address: str) -> str:
        """Load in Python; return the result or the exception."""
        with mock.patch.dict(os.environ, store.variables(), clear=True):
            try:
                return repr(pgsluice.load(address, "loaded", server(), format="csv"))
            except pgsluice.Error as error:
                return f"{error} {error!r} {vars(error)}"

    def assert_secret(self, text: str, secrets: set[str]) -> None:
        for secret in secrets:
            self.assertNotIn(secret, text)

    def signed(self, url: str) -> set[str]:
        """Return the parts of a signed URL that nobody may see."""
        query = parse_qs(urlsplit(url).query)
        return {*query["X-Amz-Signature"], *query["X-Amz-Credential"], "X-Amz-Signature"}

    def assert_loaded_from(self, printed: list[str]) -> None:
        """Check that the first run loaded all rows, and that messages name the object."""
        self.assertIn("3,000 rows", printed[0])
        self.assertIn("/good.csv", "".join(printed))


class SignedUrls(Secrets):
    def assert_signed(self, store: Store) -> None:
        for name, data in FILES.items():
            store.put(f"secrets/{name}", data)
        for name in FILES:
            with self.subTest(name):
                self.connection.execute("DROP SCHEMA IF EXISTS pgsluice CASCADE")
                self.empty("loaded")
                url = store.presigned(f"secrets/{name}")
                printed = self.run_all(store, url, self.signed(url))
                if name == "good.csv":
                    self.assert_loaded_from(printed)
                elif name == "long.csv":
                    self.assertIn("were committed before", printed[0])
                    self.assertIn("/long.csv?***' -t loaded", printed[0])
                elif name == "empty.csv":
                    self.assertIn("0 rows", printed[0])

    def test_of_seaweedfs(self):
        self.assert_signed(started(Seaweed))

    def test_of_moto(self):
        self.assert_signed(started(Moto))

    def test_of_objects_that_cannot_be_read(self):
        store = started(Seaweed)
        store.put("secrets/good.csv", ROWS)
        for url, message in (
            (store.presigned("secrets/absent.csv"), "does not exist"),
            (store.presigned("secrets/good.csv", "wrong"), "HTTP status 403"),
            (store.presigned("secrets/good.csv", bucket="absent-bucket"), "does not exist|refuses"),
            (store.presigned("secrets/good.csv").split("?")[0], "HTTP status 403"),
        ):
            with self.subTest(url):
                secrets = self.signed(url) if "?" in url else set()
                printed = self.run_all(store, url, secrets)
                self.assertRegex(printed[0], message)
                self.assertEqual(self.ids(), [])

    def test_of_a_server_that_does_not_answer(self):
        (port,) = free_ports(1)
        store = started(Seaweed)
        url = store.presigned("secrets/good.csv").replace(store.url, f"http://127.0.0.1:{port}")
        done = self.load_from(store, url)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("could not connect", done.stderr)
        self.assert_secret(done.stderr, self.signed(url))


class Passwords(Secrets):
    def started_with_password(self) -> HttpWithPassword:
        store = HttpWithPassword()
        self.addCleanup(store.stop)
        store.wait_until(store.make_bucket)
        for name, data in FILES.items():
            store.put(name, data)
        return store

    def test_of_a_url(self):
        store = self.started_with_password()
        for url in (
            store.address("good.csv"),
            store.address("absent.csv"),
            store.address("good.csv").replace(PASSWORD, "other-secret"),
        ):
            with self.subTest(url):
                self.run_all(store, url, {"other-secret"})

    def test_of_a_url_is_sent(self):
        store = self.started_with_password()
        done = self.load_from(store, store.address("good.csv"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_of_the_environment(self):
        for kind in (Seaweed, Moto, Azure):
            store = started(kind)
            store.put("secrets/good.csv", ROWS)
            store.put("secrets/bad.csv", FILES["bad.csv"])
            for name in ("good.csv", "bad.csv", "absent.csv"):
                with self.subTest(f"{kind.__name__}: {name}"):
                    self.run_all(store, store.address(f"secrets/{name}"), set())


del Secrets

if __name__ == "__main__":
    unittest.main()
