"""The blocks of the page on orchestrators run unchanged, with the real packages."""

import json
import os
import re
import shlex
import unittest
from datetime import date, timedelta
from unittest.mock import patch

import yaml
from loads.test_manual import MANUAL
from loads.test_recipes import DAY, RECIPES, OnPage, blocks

INBOX = "/srv/orders/inbox"
GOOD = "\n".join(line for line in DAY.splitlines() if not line.startswith(("500,", "x,"))) + "\n"
MATERIALIZE = """
for rows in (998, 0):
    done = dg.materialize([orders], partition_key="2026-11-25")
    (event,) = done.asset_materializations_for_node("orders")
    assert event.metadata["rows"].value == rows, event
    assert event.metadata["load_id"].value == "orders/2026-11-25"
"""
TEST_DAG = """
from datetime import UTC

if __name__ == "__main__":
    day = datetime(2026, 11, 25, tzinfo=UTC)
    for _ in range(2):
        dag.test(run_after=day, logical_date=day)
"""
# The first try is cut off after its load, the second one in the ledger.
FAILING = """
from dlt.destinations.exceptions import DestinationTransientException

tried = []
load = pgsluice.load


def failing(file, *args, **options):
    done = load(file, *args, **options)
    tried.append((str(file), options["load_id"], done.already_finished))
    if len(tried) == 1:
        raise DestinationTransientException("the answer was lost")
    return done


pgsluice.load = failing
"""
TRIED = """
files, ids, finished = zip(*tried)
assert len(set(files)) == 2 and len(set(ids)) == 1 and finished == (False, True), tried
"""


class Page(OnPage):
    limit = 600

    def setUp(self):
        super().setUp()
        self.text = (MANUAL / "orchestrators.md").read_text()
        (self.folder / "inbox/orders-2026-11-25.csv").write_text(GOOD)
        self.enterContext(patch.dict(os.environ, PGDATABASE="shop"))

    def section(self, name: str) -> str:
        _, _, rest = self.text.partition(f"\n### {name}\n")
        return rest.partition("\n###")[0]

    def put(self, section: str, before: str = "", after: str = "") -> str:
        """Write the file of a section, with code around it; return its name."""
        (block,) = [each for each in blocks(self.section(section)) if each.file and each.is_run]
        if block.is_missing:
            self.skipTest(f"{block.needs} is not installed")
        text = before + block.text.replace(INBOX, str(self.folder / "inbox")) + after
        (self.folder / block.file).write_text(text)
        return block.file

    def ids(self) -> set[str]:
        found = self.connection.execute("SELECT id FROM pgsluice.load").fetchall()
        return {name for (name,) in found}

    def test_airflow(self):
        name = self.put("Airflow", after=TEST_DAG)
        self.connection.execute(
            "CREATE TABLE sales (till int, id bigint, placed date, total numeric(10,2));"
            "INSERT INTO sales SELECT 1 + i % 2, 5000 + i, '2026-05-01', 1"
            " FROM generate_series(1, 20) AS i"
        )
        place = {
            "conn_type": "postgres",
            "host": os.environ["PGHOST"],
            "port": os.environ.get("PGPORT"),
            "login": os.environ["PGUSER"],
            "schema": "shop",
        }
        home = self.folder / "airflow"
        (home / "dags").mkdir(parents=True)
        variables = {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        with patch.dict(os.environ, variables, AIRFLOW_CONN_SHOP=json.dumps(place)):
            self.bash(f"python -m airflow db migrate; mv {name} airflow/dags")
            output = self.bash(f"python airflow/dags/{name}")
        self.assertEqual(output.count("state=success, run_type"), 2, output)
        self.assertEqual((self.count(), self.count("id > 5000")), (1018, 20))
        run = "load_orders/manual__2026-11-25T00:00:00+00:00"
        tasks = {"load_file", "load_sales[0]", "load_sales[1]"}
        self.assertEqual(self.ids(), {f"{run}/{task}" for task in tasks})

    def test_dagster(self):
        self.bash(f"python {self.put('Dagster', after=MATERIALIZE)}")
        self.assertEqual(self.count(), 998)

    def test_dlt(self):
        name = self.put("dlt")
        text = (self.folder / name).read_text()
        first, run = text.split("\npipeline = ")
        (self.folder / name).write_text(f"{first}{FAILING}\npipeline = {run}{TRIED}")
        with patch.dict(os.environ, DLT_DATA_DIR=str(self.folder), HOME=str(self.folder)):
            self.bash(f"python {name}")
        self.assertEqual(self.count(), 1000)

    def test_pandas(self):
        self.assertEqual(self.run_blocks(self.section("pandas")), 2)
        self.assertEqual(self.count(), 2)

    def test_cron_and_systemd(self):
        nightly = next(blocks((RECIPES / "nightly.md").read_text()))
        (self.folder / "nightly.sh").write_text(nightly.text)
        self.run_blocks(self.section("cron") + self.section("systemd"))
        last = (self.folder / "crontab.txt").read_text().splitlines()[-1]
        command = last.split(maxsplit=5)[5].replace("/srv/orders", str(self.folder))
        # Nothing is mailed while the file is late.
        inbox = self.folder / "inbox"
        inbox.rename(self.folder / "late")
        self.assertEqual(self.bash(f"/bin/sh -c '{command}'"), "")
        self.assertIn("has not arrived", (self.folder / "nightly.log").read_text())
        inbox.mkdir()
        yesterday = date.today() - timedelta(days=1)
        (inbox / f"orders-{yesterday}.csv").write_text(DAY)
        self.assertIn("2 rows rejected", self.bash(f"/bin/sh -c '{command}'"))
        self.assertEqual(self.bash(f"/bin/sh -c '{command}'"), "")

    def test_kubernetes(self):
        cron = yaml.safe_load((self.folder / self.put("Kubernetes")).read_text())
        pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        self.assertEqual(mounts, {volume["name"] for volume in pod["volumes"]})
        (variable,) = container["env"]
        (self.folder / "inbox/orders.csv").write_text(GOOD)
        names = {"/inbox": "inbox", f"$({variable['name']})": "load-orders-29401380"}
        words = " ".join(shlex.quote(word) for word in container["args"])
        for name, meant in names.items():
            self.assertIn(name, words)
            words = words.replace(name, meant)
        self.bash(f"pgsluice {words}")
        self.assertIn("has already finished", self.bash(f"pgsluice {words}"))
        self.assertEqual(self.ids(), {"load-orders-29401380"})
        self.assertEqual(self.count(), 998)

    def test_every_block_is_run_or_says_why(self):
        fences = re.findall(r"^```\w", self.text, re.MULTILINE)
        self.assertEqual(len(list(blocks(self.text))), len(fences))
        self.assertEqual(sum(not block.is_run for block in blocks(self.text)), 5)


if __name__ == "__main__":
    unittest.main()
