"""Runs on a real server: figures, wrong rows, limits, interruptions, and the cleanup."""

import copy
import os
import sys
import unittest
from pathlib import Path
from unittest.mock import patch

from pgsluice_lab import disk, engine, experiment, programs, session, site
from pgsluice_lab.engine import Engine
from pgsluice_lab.failure import LabError
from pgsluice_lab.record import Load
from psycopg import conninfo

from .tiny import TOML, OnServer, experiment_in

SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pgsluice%'"
ENGINES = engine.engines()
HEAD, *CASES = TOML.split("[[case]]\n")
[UPDATE] = ["[[case]]\n".join([HEAD, case]) for case in CASES if case.startswith('name = "update"')]


class Running(OnServer):
    def test_each_engine_loads_each_point_in_each_round(self):
        steps = []
        run = self.run_tiny(say=lambda step, total: steps.append((step, total)))
        self.assertEqual({load.status for load in run.loads}, {"done"})
        # pgloader is not always installed; five more engines load existing rows.
        engines = 4 + (run.head.engines["pgloader"].missing is None) + 5
        self.assertEqual(len(run.loads), 2 * (2 * engines + 2))
        self.assertEqual(len(steps), 1 + 7 + len(run.loads))
        for load in run.loads:
            self.assertGreater(load.seconds, 0)
            self.assertGreater(load.client_peak_mib, 0)
            self.assertGreater(load.wal_bytes, 0)
            self.assertGreaterEqual(load.table_bytes, 8192)
            for secret in (str(self.folder), str(self.records), self.site.url, sys.prefix):
                self.assertNotIn(secret, load.command)
        bench = next(load for load in run.loads if load.case == "insert")
        self.assertEqual(bench.rows, 20)
        self.assertGreater(bench.figures["tps"], 0)
        self.assertEqual(self.site.lab_schemas(), [])

    def test_an_engine_may_load_in_the_first_round_only(self):
        tiny = experiment_in(self.folder, UPDATE + 'once = ["pgsluice-update"]\n')
        loads = session.plan(tiny, tiny.scales["small"], ENGINES)
        rounds = {
            name: {each.round for each in loads if each.engine.name == name} for name in ENGINES
        }
        self.assertEqual((rounds["psql-staged-update"], rounds["pgsluice-update"]), ({1, 2}, {1}))

    def test_an_update_that_changes_other_rows_is_no_figure(self):
        fewer = UPDATE.replace("= staged.aid", "= staged.aid and staged.aid > 1")
        loads = self.run_tiny(fewer).loads
        for load in loads:
            right = load.engine == "pgsluice-update"
            self.assertEqual(load.status, "done" if right else "wrong", load.reason)
        self.assertEqual(len(loads), 8)

    def test_a_run_that_was_interrupted_goes_on(self):
        def interrupt(step: str, _: int) -> None:
            if step.startswith("round 2"):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.run_tiny(say=interrupt)
        run = self.run_tiny()
        [file] = self.records.iterdir()
        self.assertEqual(file, run.file)
        self.assertEqual(len(run.done()), len(run.loads))
        self.assertEqual({load.round for load in run.loads}, {1, 2})
        self.assertTrue(run.ended)

    def test_programs_reach_the_server_as_they_are_told(self):
        def reach(of: site.Site, parameters: dict) -> str:
            far = parameters.get("rows") == 500
            return conninfo.make_conninfo(of.url, port=1) if far else of.url

        loads = [load for load in self.run_tiny(reach=reach).loads if load.engine == "psql"]
        found = {load.point["rows"]: load.status for load in loads}
        self.assertEqual(found, {200: "done", 500: "failed"})
        for load in loads:
            self.assertTrue(load.command.endswith(" $URL"), load.command)

    def with_engine(self, script: str, limit: str = "60", **keys: object) -> list[Load]:
        """Run the experiment with a psql engine that does something else, and return its loads."""
        command = [*ENGINES["psql"].command[:-2], script, "{url}"]
        other = Engine("psql", "psql", command, "psql", **keys)
        toml = TOML.replace("limit = 60", f"limit = {limit}")
        with patch.object(engine, "engines", lambda *_: {**ENGINES, "psql": other}):
            run = self.run_tiny(toml)
        return [load for load in run.loads if load.engine == "psql"]

    def test_a_program_may_report_its_own_figures(self):
        of_itself = {"seconds": 1000, "client_cpu_seconds": 2000, "client_peak_mib": 3000}
        numbers = "1000 as seconds, 2000 as client_cpu_seconds, 3000 as client_peak_mib, 4 as more"
        figures = {name: f"({value})" for name, value in {**of_itself, "more": 4}.items()}
        rows = "insert into {table} select g, 1, 0, '' from generate_series(1, {rows}) g"
        for load in self.with_engine(f"{rows}; select {numbers}", figures=figures):
            self.assertEqual({name: load.figure(name) for name in of_itself}, of_itself)
            self.assertEqual((load.status, load.figures), ("done", {"more": 4}))

    def test_a_wrong_count_is_no_figure(self):
        for load in self.with_engine("insert into {table} values (1)"):
            self.assertEqual(load.status, "wrong")
            self.assertIn("the table has 1 rows, not", load.reason)
            self.assertIsNone(load.seconds)

    def test_the_right_count_in_wrong_leaves_is_no_figure(self):
        for load in self.with_engine(
            "insert into {table} select 1 from generate_series(1, {rows})"
        ):
            self.assertEqual(load.status, "wrong")
            self.assertIn("leaves do not have the rows", load.reason)

    def test_a_failure_is_recorded_with_its_reason(self):
        for load in self.with_engine("select 1 / 0"):
            self.assertEqual(load.status, "failed")
            self.assertIn("division by zero", load.reason)

    def test_hanging_programs_and_their_sessions_are_ended(self):
        for load in self.with_engine("select pg_sleep(600)", limit="1"):
            self.assertEqual((load.status, load.reason), ("stopped", "stopped after 1 seconds"))
        running = "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s AND state = 'active'"
        self.assertEqual(self.site.query(running, "select pg_sleep(6__)"), [])


class Room(OnServer):
    def test_only_the_point_that_is_loaded_has_rows(self):
        held = []

        def say(*_: object) -> None:
            tables = "SELECT oid::regclass FROM pg_class WHERE relname = 'accounts'"
            rows = [
                int(self.site.query(f"SELECT count(*) FROM {table}")[0][0])
                for [table] in self.site.query(tables)
            ]
            held.append(sum(rows))

        self.run_tiny(say=say)
        # Each step is announced before it begins.
        self.assertEqual(set(held), {0})
        self.assertGreater(len(held), 4)


class Sites(OnServer):
    """Another lab on the same server, and its errors."""

    def setUp(self):
        super().setUp()
        self.target = conninfo.make_conninfo(self.site.url, password=self.site.env["PGPASSWORD"])
        self.site.query("SELECT pg_advisory_unlock_all()")

    def again(self, target: str | None = None):
        return site.opened(target or self.target)

    def test_another_schema_of_that_name_is_not_touched(self):
        self.site.execute("CREATE SCHEMA pgsluice_lab_1 CREATE TABLE kept (i int)")
        self.addCleanup(self.site.execute, "DROP SCHEMA pgsluice_lab_1 CASCADE")
        with self.assertRaisesRegex(LabError, "is there already"), self.again() as other:
            other.create()
        self.assertEqual(self.site.query("SELECT count(*) FROM pgsluice_lab_1.kept"), [["0"]])

    def test_leftovers_of_a_killed_lab_are_dropped(self):
        left = site.Site(self.target, dict(os.environ), embedded=True)
        left.create()
        left.connection.close()
        with self.again() as other:
            self.assertEqual(other.lab_schemas(), [])

    def test_two_labs_do_not_share_a_database(self):
        with self.again(), self.assertRaisesRegex(LabError, "another lab"), self.again():
            pass

    def test_without_the_right_to_make_a_schema_it_says_so(self):
        self.site.execute("CREATE ROLE poor LOGIN PASSWORD 'secret'")
        self.addCleanup(self.site.execute, "DROP ROLE poor")
        poor = conninfo.make_conninfo(self.site.url, user="poor", password="secret")
        with self.assertRaises(LabError) as raised, self.again(poor) as other:
            other.create()
        self.assertIn("GRANT CREATE", raised.exception.hint)

    def test_a_password_is_in_the_environment_of_programs_and_in_no_command(self):
        with self.again() as other:
            password = conninfo.conninfo_to_dict(self.target)["password"]
            self.assertNotIn(password, other.url)
            self.assertEqual(other.environment("x")["PGPASSWORD"], password)

    def test_the_uri_for_other_loaders_keeps_how_tls_is_used_and_no_password(self):
        with self.again(conninfo.make_conninfo(self.target, sslmode="disable")) as other:
            self.assertRegex(other.uri, r"^postgresql://\w+@[^:@]+:\d+/\w+\?sslmode=disable&$")

    def test_no_server_is_an_error_that_says_so(self):
        with self.assertRaisesRegex(LabError, "could not connect"), self.again("host=/nowhere"):
            pass

    def test_programs_that_are_none_of_a_server_are_an_error_that_says_so(self):
        with self.assertRaisesRegex(LabError, "did not start") as raised:
            self.enterContext(site.opened(None, self.folder))
        self.assertIn("no PostgreSQL ", raised.exception.detail)

    def test_a_ledger_that_was_there_stays_and_forgets_the_labs_loads(self):
        load = [programs.needed("pgsluice"), "load", "-", "-d", self.site.url, "-t", "public.mine"]
        self.site.execute("CREATE TABLE public.mine (i int)")
        self.addCleanup(self.site.execute, "DROP TABLE public.mine")
        self.site.run([*load, "--load-id", "mine", "-q"], "public")
        with self.again() as other:
            other.run([*load, "--load-id", other.load_id(), "-q"], "public")
        self.assertEqual(self.site.query("SELECT id FROM pgsluice.load"), [["mine"]])
        self.site.execute("DROP SCHEMA pgsluice CASCADE")
        with self.again() as other:
            other.run([*load, "--load-id", other.load_id(), "-q"], "public")
        self.assertEqual(self.site.query(SCHEMAS), [])


class Disk(unittest.TestCase):
    def test_files_of_leaves_pass_where_rows_are_ordered(self):
        case = {"name": "c", "title": "", "schema": "", "table": "", "input": "accounts"}
        engines = ["psql", "psql-ordered", "psql-staged-leaves"]
        scale = {"rounds": 1, "limit": 1, "rows": 1000}
        text = {"title": "", "question": "", "order": 1, "scale": {"small": scale}}
        text["case"] = [{**case, "engines": engines}]
        known = engine.engines()
        for without, times in ((engines[1:], 1), (engines[2:], 3), ([], 4)):
            here = {name: each for name, each in known.items() if name not in without}
            each = experiment.parse(Path("tiny"), copy.deepcopy(text))
            inputs, _ = disk.needed(each, each.scales["small"], here)
            self.assertEqual(inputs, times * 100_000)

    def test_rows_that_a_script_makes_take_room_on_the_server_only(self):
        shipped = experiment.load("partition-in-use")
        scale = shipped.scales["small"]
        known = engine.engines()
        here = {name: known[name] for name in shipped.engines}
        inputs, server = disk.needed(shipped, scale, here)
        self.assertEqual(inputs, 0)
        self.assertGreater(server, 250 * scale.scalars["rows"])

    def test_too_little_room_is_reported_before_anything_is_created(self):
        with self.assertRaisesRegex(LabError, "too little room"):
            disk.check(1 << 60, 0, disk.Path("/"), None)


if __name__ == "__main__":
    unittest.main()
