"""A small experiment for tests, and a server to run it on."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import experiment, record, session, site
from pgsluice_lab.experiment import Experiment

TOML = """
title = "Tiny"
question = "Does it run?"
order = 1

[scale.small]
rounds = 2
limit = 60
rows = [200, 500]
partitions = 4
clients = 2
transactions = 10

[[case]]
name = "hash"
title = "hash partitions"
schema = "hash.sql"
table = "accounts"
axes = ["rows"]
input = "accounts"
engines = ["psql", "psql-ordered", "psql-leaves", "pgsluice", "pgloader"]

[[case]]
name = "half"
title = "rows that are there already"
schema = "key.sql"
table = "accounts"
axes = ["rows"]
input = "accounts"
prepare = "half.sql"
engines = ["psql-staged", "psql-staged-leaves", "pgsluice-skip"]

[[case]]
name = "update"
title = "updates of rows that are there"
schema = "key.sql"
table = "accounts"
axes = ["rows"]
input = "accounts"
prepare = "all.sql"
counts = "rows"
engines = ["psql-staged-update", "pgsluice-update"]
checks = { psql-staged-update = "updated == rows", pgsluice-update = "updated == rows" }
variables = { assigned = "abalance = 0", matched = "accounts.aid = staged.aid" }

[[case]]
name = "insert"
title = "INSERT by pgbench"
schema = "hash.sql"
table = "accounts"
counts = "clients * transactions"
engines = ["pgbench", "pgbench-async"]
variables = { script = "insert.pgbench" }
"""
HASH = """create table accounts (aid int, bid int, abalance int, filler char(84))
    partition by hash (aid);
select format(
    'create table accounts_%s partition of accounts for values with (modulus %s, remainder %s)',
    n, :partitions, n)
from generate_series(0, :partitions - 1) n \\gexec
"""
KEY = f"{HASH}alter table accounts add primary key (aid);\n"
HALF = "insert into accounts select aid from generate_series(1, :rows / 2) aid;\n"
ALL = "insert into accounts select aid from generate_series(1, :rows) aid;\n"
INSERT = "insert into accounts select (random() * 1000000)::int;\n"


def experiment_in(folder: Path, toml: str = TOML) -> Experiment:
    """Write the experiment into a folder, and read it."""
    place = folder / "tiny"
    place.mkdir(exist_ok=True)
    (place / "experiment.toml").write_text(toml)
    (place / "hash.sql").write_text(HASH)
    (place / "key.sql").write_text(KEY)
    (place / "half.sql").write_text(HALF)
    (place / "all.sql").write_text(ALL)
    (place / "insert.pgbench").write_text(INSERT)
    with patch.object(experiment, "FOLDER", folder):
        return experiment.load("tiny")


class OnServer(unittest.TestCase):
    """Tests with an embedded server, and their own cache and folder of records."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cache = {"PGSLUICE_LAB_CACHE": str(cls.folder / "cache")}
        cls.enterClassContext(patch.dict(os.environ, cache))
        cls.site = cls.enterClassContext(site.opened(None))

    def setUp(self):
        self.records = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tiny(
        self, toml: str = TOML, say: session.Say = lambda *_: None, **options: object
    ) -> record.Run:
        """Run the experiment on the class's server."""
        tiny = experiment_in(self.folder, toml)
        return session.run(tiny, tiny.scales["small"], self.site, self.records, say, **options)
