"""The forms of an input: a divided input loses and repeats nothing."""

import tempfile
import unittest
from pathlib import Path

from pgsluice_lab import forms


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_parts_are_whole_lines_and_together_the_file(self):
        for lines in (0, 1, 2, 3, 10, 1000):
            file = self.folder / "rows.txt"
            file.write_text("".join(f"{'x' * (n % 7)}{n}\n" for n in range(lines)))
            for count in (1, 2, 3, 7):
                parts = forms.parts(file, count, self.folder)
                texts = [part.read_text() for part in parts]
                self.assertEqual("".join(texts), file.read_text())
                self.assertTrue(all(text.endswith("\n") for text in texts if text))
                self.assertLessEqual(len(parts), count)

    def test_scripts_share_all_leaves(self):
        files = {}
        for number in range(5):
            files[f"leaf_{number}"] = self.folder / f"it's {number}"
            files[f"leaf_{number}"].write_text("x" * number)
        made = forms.scripts(files, "a, b", 2, self.folder)
        lines = [line for script in made for line in script.read_text().splitlines()]
        self.assertEqual(len(made), 2)
        self.assertEqual(len([line for line in lines if line.startswith("\\copy")]), 5)
        wanted = f"\\copy leaf_3 (a, b) from '{self.folder}/it''s 3'"
        self.assertIn(wanted, lines)

    def test_a_file_is_staged_before_its_leaf_gets_the_rows_that_are_not_there(self):
        file = self.folder / "rows"
        file.write_text("1\n")
        [made] = forms.scripts({"leaf_1": file}, "a, b", 2, self.folder, bring=forms.staged)
        self.assertEqual(
            made.read_text().removeprefix(forms.ASYNCHRONOUS).removesuffix(f"{forms.FLUSH}\n"),
            f"""
CREATE TEMPORARY TABLE staged (LIKE leaf_1);
\\copy staged (a, b) from '{file}'
INSERT INTO leaf_1 SELECT * FROM staged ON CONFLICT DO NOTHING;
DROP TABLE staged;
""",
        )


if __name__ == "__main__":
    unittest.main()
