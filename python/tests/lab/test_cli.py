"""How the command line ends."""

import os
import signal
import subprocess
import sys
import unittest
from unittest.mock import patch

from pgsluice_lab import cli


class Ending(unittest.TestCase):
    def test_sigterm_is_taken_as_ctrl_c(self):
        before = signal.getsignal(signal.SIGTERM)
        self.addCleanup(signal.signal, signal.SIGTERM, before)
        with (
            patch.object(cli, "app", side_effect=lambda: os.kill(os.getpid(), signal.SIGTERM)),
            self.assertRaises(KeyboardInterrupt),
        ):
            cli.main()

    def test_without_its_libraries_it_says_how_to_get_them(self):
        # None in sys.modules is what Python takes for a package that is not there.
        script = (
            "import sys; sys.modules['typer'] = None;from pgsluice_lab.__main__ import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("typer", done.stderr)
        self.assertIn("hint: pip install 'pgsluice[lab]'", done.stderr)


if __name__ == "__main__":
    unittest.main()
