"""The paths of programs: no program is timed through a script that starts it."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import engine, programs
from pgsluice_lab.engine import available

SCRIPT = '#!/bin/sh\necho "psql (PostgreSQL) 1"\n'


class Wrapped(unittest.TestCase):
    """A PATH with Debian's wrapper, and installed versions of our own."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        wrapper = self.program("share/pg_wrapper")
        (self.folder / "path").mkdir()
        (self.folder / "path" / "psql").symlink_to(wrapper)
        env = {"PATH": f"{self.folder / 'path'}{os.pathsep}/bin"}
        self.enterContext(patch.dict(os.environ, env))
        self.enterContext(patch.object(programs, "programs", lambda: None))
        self.enterContext(patch.object(programs.sys, "executable", str(self.folder / "python")))
        self.enterContext(patch.object(programs, "INSTALLED", self.folder / "installed"))
        self.enterContext(patch.object(programs, "CONFIG", "no-such-program"))

    def program(self, name: str, text: str = SCRIPT) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        return file

    def test_the_newest_program_is_taken_and_not_the_wrapper(self):
        for version in ("9.6", "15", "16"):
            self.program(f"installed/{version}/bin/psql")
        self.program("installed/17/bin/postgres")
        self.assertEqual(programs.find("psql"), str(self.folder / "installed/16/bin/psql"))

    def test_else_the_one_that_pg_config_tells(self):
        real = self.program("elsewhere/psql")
        config = self.program("path/a-config", f"#!/bin/sh\necho {real.parent}\n")
        with patch.object(programs, "CONFIG", config.name):
            self.assertEqual(programs.find("psql"), str(real))

    def test_where_nobody_can_tell_the_record_says_that_it_was_the_wrapper(self):
        self.assertEqual(programs.find("psql"), str(self.folder / "path" / "psql"))
        _, about = available(["psql"])
        self.assertEqual(about["psql"].version, "psql (PostgreSQL) 1, by pg_wrapper")

    def test_any_other_program_is_taken_as_it_is(self):
        (self.folder / "path" / "psql").unlink()
        own = self.program("path/psql")
        self.program("installed/16/bin/psql")
        self.assertEqual(programs.find("psql"), str(own))
        self.assertEqual(available(["psql"])[1]["psql"].version, "psql (PostgreSQL) 1")
        self.assertEqual(engine.engines()["psql"].find(), [str(own)])


if __name__ == "__main__":
    unittest.main()
