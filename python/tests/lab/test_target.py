"""The lab's server: from -d with psql's meaning, PG*, DATABASE_URL, or none of them."""

import os
import unittest
from unittest.mock import patch

from pgsluice_lab import programs, site, target
from pgsluice_lab.failure import LabError
from psycopg import conninfo

from .tiny import OnServer

NAMES = (*target.PLACES, "DATABASE_URL")


def elsewhere() -> dict[str, str]:
    """Return our environment without variables that name a server."""
    return {name: value for name, value in os.environ.items() if name not in NAMES}


class Find(unittest.TestCase):
    def found(self, given: str | None, **env: str) -> str | None:
        with patch.dict(os.environ, {**elsewhere(), **env}, clear=True):
            return target.find(given)

    def test_a_name_is_that_of_a_database(self):
        self.assertEqual(self.found("shop"), "dbname=shop")
        self.assertEqual(self.found("my shop"), "dbname='my shop'")

    def test_urls_and_keywords_stay_as_they_are(self):
        for text in ("postgresql://h/shop", "postgres://h/shop", "host=h dbname=shop", ""):
            self.assertEqual(self.found(text, PGHOST="other"), text)

    def test_the_environment_is_asked_if_nothing_is_given(self):
        self.assertIsNone(self.found(None))
        self.assertEqual(self.found(None, PGHOST="h", DATABASE_URL="postgres://d/d"), "")
        self.assertEqual(self.found(None, PGSERVICE="s"), "")
        self.assertEqual(self.found(None, DATABASE_URL="postgres://d/d"), "postgres://d/d")

    def test_invalid_connection_strings_are_usage_errors(self):
        for text in ("host=h dbnam=shop", "postgresql://[h/shop", "host='h"):
            with self.assertRaises(LabError) as raised:
                self.found(text)
            self.assertEqual(raised.exception.status, 2)
            self.assertIn("-d takes a database name", raised.exception.hint)


class Connected(OnServer):
    def test_programs_reach_the_server_however_it_is_named(self):
        self.site.query("SELECT pg_advisory_unlock_all()")
        info = conninfo.conninfo_to_dict(self.site.url)
        named = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user"}
        env = {variable: str(info[option]) for variable, option in named.items()}
        secret = {"PGPASSWORD": self.site.env["PGPASSWORD"]}
        everything = f"host={info['host']} port={info['port']} user={info['user']} dbname=postgres"
        for given, more in (
            ("postgres", env),
            ("dbname=postgres", env),
            ("postgresql:///postgres", env),
            (None, {**env, "PGDATABASE": "postgres"}),
            (None, env),
            (everything, {}),
        ):
            with (
                self.subTest(given=given, more=more),
                patch.dict(os.environ, {**elsewhere(), **secret, **more}, clear=True),
                site.opened(target.find(given)) as place,
            ):
                ask = [programs.needed("psql"), "-XAt", "-c", "SELECT current_database()"]
                self.assertEqual(place.run([*ask, place.url], "public"), "postgres\n")
                listed = [programs.needed("pgsluice"), "ledger", "list", "-d", place.url]
                place.run(listed, "public")
                self.assertIn(f"database postgres at {info['host']}:{info['port']}", place.words)


if __name__ == "__main__":
    unittest.main()
