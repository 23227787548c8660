"""How the command line ends."""

import os
import signal
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


if __name__ == "__main__":
    unittest.main()
