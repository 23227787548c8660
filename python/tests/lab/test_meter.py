"""The processor time of a process and its children, here of this process."""

import os
import subprocess
import sys
import unittest

from pgsluice_lab.meter import PROC, Meter

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"


@unittest.skipUnless(PROC.joinpath("self", "stat").exists(), "processor time is read from /proc")
class Family(unittest.TestCase):
    def setUp(self):
        self.meter = Meter.__new__(Meter)
        self.meter.postmasters = (os.getpid(),)
        self.second = os.sysconf("SC_CLK_TCK")

    def test_a_child_counts_while_it_lives_and_after_it_was_waited_for(self):
        before = self.meter.settled()
        command = [sys.executable, "-c", BURN]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            self.assertIn(child.pid, self.meter.family())
            self.assertGreaterEqual(self.meter.settled() - before, 0.25 * self.second)
            child.stdin.write(b"\n")
        self.assertNotIn(child.pid, self.meter.family())
        self.assertGreaterEqual(self.meter.settled() - before, 0.25 * self.second)

    def test_all_servers_count_and_if_one_runs_elsewhere_nobody_can_tell(self):
        command = [sys.executable, "-c", "input()"]
        pipe = subprocess.PIPE
        with (
            subprocess.Popen(command, stdin=pipe) as first,
            subprocess.Popen(command, stdin=pipe) as second,
        ):
            self.meter.postmasters = (first.pid, second.pid)
            self.assertEqual(self.meter.family().keys(), {first.pid, second.pid})
            self.meter.postmasters = (first.pid, None)
            self.assertIsNone(self.meter.settled())
            for each in (first, second):
                each.stdin.write(b"\n")
                each.stdin.flush()


if __name__ == "__main__":
    unittest.main()
