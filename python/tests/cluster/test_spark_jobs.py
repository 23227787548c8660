"""Jobs whose tasks and executors are killed, with speculation on: every row is there once."""

import json
import random
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import pgsluice

from .faults import FAULTS, FaultySource
from .spark_place import JOBS, OnCluster, expected, frame, session

ROWS = 80_000
PARTITIONS = 6
# Faults of one job.
FAULTS_EACH = 3


class Jobs(OnCluster):
    limit = 120 + 90 * JOBS

    def test_every_row_is_there_once(self):
        session().dataSource.register(FaultySource)
        happened, twins = Counter(), 0
        for job in range(JOBS):
            with self.subTest(job=job), tempfile.TemporaryDirectory() as folder:
                self.run_job(job, Path(folder))
                done = [file.name.split(".")[1] for file in Path(folder).glob("*.done")]
                happened.update(done)
                begun = Counter(f.name.split(".")[0] for f in Path(folder).glob("*.begun"))
                twins += begun.total() - PARTITIONS - sum("slow" not in each for each in done)
        print(f"\n{JOBS} jobs: {dict(happened)}, {twins} other attempts", flush=True)
        # A task that ends with its executor, or before its fault, has no fault.
        self.assertEqual(set(happened), set(FAULTS))
        self.assertGreater(happened.total(), JOBS * FAULTS_EACH // 2)
        self.assertGreater(twins, 0)

    def run_job(self, job: int, folder: Path) -> None:
        self.use_database()
        self.make()
        chosen = random.Random(job)
        plan = {}
        for number in range(FAULTS_EACH):
            fault = FAULTS[(job * FAULTS_EACH + number) % len(FAULTS)]
            plan.setdefault(str(chosen.randrange(PARTITIONS)), []).append(fault)
        (folder / "plan.json").write_text(json.dumps(plan))
        options = {"table": "events", "conninfo": self.url, "load_id": f"job {job}"}
        writer = frame(ROWS, PARTITIONS).write.format("faulty").options(**options)
        writer.option("faults", str(folder)).mode("append").save()
        self.assertEqual(self.sums(), expected(self.connection, ROWS), plan)
        (load,) = pgsluice.ledger(self.url)
        self.assertEqual((load.id, load.state, load.rows), (f"job {job}", "finished", ROWS))


if __name__ == "__main__":
    unittest.main()
