"""`scripts/prose.py`, by which `make check` judges the docs of new functions."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "prose.py"
OLD = "/// The old doc.\nfn old() {}\n"
RUST = """/// {}
/// It is cached.
#[expect(
    x, reason = "[y]"
)]
pub(crate) const fn f() {{}}
"""
PYTHON = 'def f():\n    """{}"""\n'
EXPOSED = "#[pymethods]\nimpl X {{\n    /// {}\n    #[new]\n    fn f() {{}}\n}}\n"


def git(place: str, *arguments: str) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x@x.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", place, *names, *arguments], check=True)


def check(files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Judge files that are added to a repository, each after the content that it has there."""
    with tempfile.TemporaryDirectory() as place:
        git(place, "init", "--quiet")
        for path in files:
            Path(place, path).parent.mkdir(parents=True, exist_ok=True)
            Path(place, path).write_text(OLD if path.endswith(".rs") else "")
        git(place, "add", ".")
        git(place, "commit", "--quiet", "--message", "x")
        for path, text in files.items():
            with Path(place, path).open("a") as file:
                file.write(text)
        command = [sys.executable, str(SCRIPT), place, "--added", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class Verbs(unittest.TestCase):
    def assert_good(self, path: str, text: str) -> None:
        run = check({path: text})
        self.assertEqual((run.returncode, run.stderr), (0, ""), text)

    def assert_bad(self, path: str, line: int, text: str) -> None:
        run = check({path: text})
        self.assertEqual(run.returncode, 1, text)
        self.assertTrue(run.stderr.startswith(f"{path}:{line}: "), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)

    def test_docs_of_rust_are_in_the_third_person(self):
        for doc in ("Returns, if any, the leaf.", "Whether it is a leaf.", "Re-reads rows."):
            self.assert_good("a/src/x.rs", RUST.format(doc))
        for doc in ("Return a leaf.", "The leaf.", "This is it.", "Names of rows.", "`x` as is."):
            self.assert_bad("a/src/x.rs", 3, RUST.format(doc))

    def test_docstrings_are_in_the_imperative(self):
        for doc in ("Return the leaf.", "Pass rows.", "Bring, or send, rows.", "Feed it."):
            self.assert_good("x.py", PYTHON.format(doc))
        for doc in ("Returns a leaf.", "The leaf.", "Opening it.", "Number of rows.", "Used by x."):
            self.assert_bad("x.py", 2, PYTHON.format(doc))

    def test_rust_for_python_has_docstrings(self):
        self.assert_good("crates/py/src/x.rs", EXPOSED.format("Return a leaf."))
        self.assert_bad("crates/py/src/x.rs", 5, EXPOSED.format("Returns a leaf."))
        self.assert_good("crates/py/src/x.rs", RUST.format("Returns a leaf."))

    def test_other_docs_are_free(self):
        self.assert_good("a/src/x.rs", "/// The size.\nconst N: u8 = 1;\nfn f() {}\n")
        self.assert_good("a/src/x.rs", "/// The case.\n#[test]\nfn it_works() {}\n")
        self.assert_good("tests/x.rs", RUST.format("The case."))
        self.assert_good("a/tests/x.py", PYTHON.format("The case."))
        self.assert_good("x.py", "@property\n" + PYTHON.format("The number of rows."))

    def test_the_rest_is_a_report(self):
        run = check({"x.md": "Of all rows there are none.\n"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("x.md:1: ", run.stdout)


if __name__ == "__main__":
    unittest.main()
