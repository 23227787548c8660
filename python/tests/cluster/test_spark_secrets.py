"""A password is only in memory: not in plans, logs, pages, events, messages or errors."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from .spark_place import OnCluster, cluster

SECRET = "Xk7_wQ2zSecret"


class Secrets(OnCluster):
    def test_passwords_are_not_shown(self):
        self.make()
        self.connection.execute(
            "ALTER TABLE events ADD CHECK (v >= 0); DROP ROLE IF EXISTS secretive;"
            f"CREATE ROLE secretive SUPERUSER LOGIN PASSWORD '{SECRET}'"
        )
        url = urlsplit(self.url)
        place = f"host={url.hostname} port={url.port} dbname={url.path[1:]} user=secretive"
        options = [
            {"table": "events", "conninfo": f"{place} password={SECRET}"},
            {"table": "events", "conninfo": place, "password": SECRET},
        ]
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            folder = Path(name)
            (folder / "events").mkdir()
            program = Path(__file__).with_name("secrets_driver.py")
            done = subprocess.run(
                [sys.executable, str(program), str(folder), json.dumps(options)],
                env=cluster().environment(),
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
            )
            shown = {"output": done.stdout, "log": done.stderr}
            shown |= {
                str(file.relative_to(folder)): file.read_text(errors="replace")
                for file in folder.rglob("*")
                if file.is_file()
            }
        self.assertEqual(done.returncode, 0, done.stderr[-5000:])
        # Everything that could show it exists: rows, errors, pages, plans and events.
        self.assertGreaterEqual(self.count(), 2 * 10 + 2 * 5)
        self.assertGreaterEqual(done.stdout.count("violates check constraint"), 4)
        self.assertIn('relation "nowhere" does not exist', done.stdout)
        self.assertIn("WriteToMicroBatchDataSource", done.stdout + done.stderr)
        self.assertIn("page: SQL/execution/", done.stdout)
        self.assertIn("SparkListenerSQLExecutionStart", "".join(shown.values()))
        for where, text in shown.items():
            self.assertNotIn(SECRET, text, where)


if __name__ == "__main__":
    unittest.main()
