"""`scripts/release_notes.py`, and the permissions of GitHub's workflows."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import release_notes  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CHANGELOG = """# Changelog

## [Unreleased]

- later

## [1.2.3] - 2026-01-31

### Added

- this

## [1.2.2] - 2026-01-01

- before
"""


class Notes(unittest.TestCase):
    def test_a_release_has_the_notes_of_its_version_alone(self):
        self.assertEqual(release_notes.section(CHANGELOG, "1.2.3"), "### Added\n\n- this")
        self.assertEqual(release_notes.section(CHANGELOG, "1.2.2"), "- before")
        self.assertIsNone(release_notes.section(CHANGELOG, "1.2"))
        self.assertIsNone(release_notes.section("## [1.2.3]\n\n- no date\n", "1.2.3"))

    def test_a_tag_that_is_not_the_version_is_refused(self):
        self.assertEqual(notes("1.2.3", "v1.2.3").stdout, "### Added\n\n- this\n")
        for version, tag in (("1.2.3", "v1.2.4"), ("1.2.3", "1.2.3"), ("1.2.4", "v1.2.4")):
            with self.subTest(tag):
                self.assertEqual(notes(version, tag).returncode, 1)


class Workflows(unittest.TestCase):
    def test_all_are_read(self):
        self.assertEqual([file.stem for file in WORKFLOWS], ["ci", "release"])

    def test_actions_are_pinned_by_commit(self):
        for step in steps():
            if "uses" in step:
                self.assertRegex(step["uses"], r"^[\w.-]+/[\w.-]+@[0-9a-f]{40}$")

    def test_only_what_publishes_may_write(self):
        allowed = {
            ("release", "release"): {"contents", "id-token", "attestations"},
            ("release", "publish"): {"id-token"},
        }
        for file in WORKFLOWS:
            workflow = yaml.safe_load(file.read_text())
            self.assertEqual(workflow["permissions"], {})
            for name, job in workflow["jobs"].items():
                may = {what for what, how in job["permissions"].items() if how == "write"}
                self.assertEqual(may, allowed.get((file.stem, name), set()), name)

    def test_no_secret_is_read(self):
        for file in WORKFLOWS:
            self.assertNotIn("secrets.", file.read_text())

    def test_scripts_exist(self):
        for step in steps():
            for script in re.findall(r"(?:scripts|\.ci)/\w[\w.]*", step.get("run", "")):
                self.assertTrue((ROOT / script).is_file(), script)

    def test_maturin_is_that_of_the_tests(self):
        pinned = re.search(r"^maturin==(.*)$", (ROOT / "requirements-dev.txt").read_text(), re.M)
        versions = {step.get("with", {}).get("maturin-version") for step in steps()} - {None}
        self.assertEqual(versions, {f"v{pinned[1]}"})


def notes(version: str, tag: str) -> subprocess.CompletedProcess[str]:
    """Run the script on a project of this version."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "CHANGELOG.md").write_text(CHANGELOG)
        Path(place, "Cargo.toml").write_text(f'[workspace.package]\nversion = "{version}"\n')
        code = f"import release_notes as r, pathlib; exit(r.main({tag!r}, pathlib.Path({place!r})))"
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=ROOT / "scripts", capture_output=True, text=True, check=False
        )


def steps() -> list[dict]:
    """Return all steps of all workflows."""
    found = [yaml.safe_load(file.read_text())["jobs"].values() for file in WORKFLOWS]
    return [step for jobs in found for job in jobs for step in job["steps"]]


if __name__ == "__main__":
    unittest.main()
