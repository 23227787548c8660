"""The package for Python users: the import, the program, and how it finds PostgreSQL."""

import os
import subprocess
import sys
import tempfile
import unittest
from importlib.metadata import distribution, version
from pathlib import Path

import pgsluice
from pgsluice_lab.postgres import programs


class Package(unittest.TestCase):
    """The installed package, as a user finds it."""

    def test_version_is_the_wheels(self):
        self.assertEqual(pgsluice.__version__, version("pgsluice"))

    def test_module_runs_the_command_line(self):
        done = run_module("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["pgsluice", pgsluice.__version__])

    def test_command_is_the_native_program(self):
        scripts = distribution("pgsluice").entry_points.select(group="console_scripts")
        self.assertEqual(list(scripts.names), ["pgsluice-lab"])
        # `pip install --target`, which the tests use, puts it here.
        command = Path(pgsluice.__file__).parents[1] / "bin/pgsluice"
        self.assertNotEqual(command.read_bytes()[:2], b"#!")
        output = subprocess.check_output([command, "--version"], text=True, timeout=60)
        self.assertEqual(output.split(), ["pgsluice", pgsluice.__version__])

    def test_import_does_not_load_what_is_large(self):
        names = {"asyncio", "airflow", "pandas", "psycopg", "pyarrow", "sqlalchemy"}
        code = f"import sys, pgsluice; sys.exit(bool({names} & set(sys.modules)))"
        self.assertEqual(subprocess.call([sys.executable, "-c", code], timeout=60), 0)

    def test_dir_lists_the_public_names(self):
        self.assertEqual(dir(pgsluice), sorted(pgsluice.__all__))
        for name in dir(pgsluice):
            self.assertTrue(hasattr(pgsluice, name), name)

    def test_usage_error_is_exit_status_2(self):
        self.assertEqual(run_module("--no-such-option").returncode, 2)

    def test_run_returns_the_exit_status(self):
        self.assertEqual(pgsluice.run(["pgsluice", "--no-such-option"]), 2)

    def test_stub_says_what_the_extension_has(self):
        command = [sys.executable, "-m", "mypy.stubtest", "pgsluice._native"]
        command.append("--ignore-missing-stub")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
            )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_postgres_of_the_extra_is_found(self):
        folder = programs()
        self.assertIsNotNone(folder)
        self.assertTrue(os.access(folder / "psql", os.X_OK))


def run_module(*args: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m pgsluice` like a user."""
    command = [sys.executable, "-m", "pgsluice", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


if __name__ == "__main__":
    unittest.main()
