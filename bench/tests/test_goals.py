"""Goals: their verdicts on figures, and that each belongs to a benchmark that is shown."""

import unittest
from dataclasses import replace

from bench.figures import by_socket
from bench.goals import GOALS, Judged, judge
from bench.record import PARTS
from bench.report import TABLES

from .loads import a_record


class Goals(unittest.TestCase):
    def test_least_and_most_hold_at_their_limit_and_not_beyond(self):
        least = replace(GOALS[0], relation="at least", limit=6.0)
        most = replace(GOALS[0], relation="at most", limit=1.15)
        for goal, value, verdict in (
            (least, 6.0, "holds"),
            (least, 5.99, "falls short"),
            (most, 1.15, "holds"),
            (most, 1.16, "falls short"),
            (most, None, "not measured"),
        ):
            self.assertEqual(Judged(goal, value).verdict, verdict)

    def test_figures_are_of_medians_and_left_out_loads_are_reported(self):
        record = a_record("uuids", {"psql": [60, 61, 99], "pgsluice": [10, 10, 10]})
        root, floor, empty, exchanged, _ = judge("uuids", record)
        self.assertEqual((root.measured, root.verdict), (6.1, "holds"))
        self.assertEqual({it.verdict for it in (floor, empty, exchanged)}, {"not measured"})

    def test_memory_is_held_against_its_limit_in_the_largest_load(self):
        record = a_record("lineitem", {"psql": [1], "pgsluice": [1, 1]}, {"memory": 512})
        loads = [replace(record.loads[-1], client_peak_mib=577.0), *record.loads]
        judged = judge("lineitem", replace(record, loads=loads))[-1]
        self.assertEqual((judged.measured, judged.verdict), (65, "falls short"))

    def test_more_leaves_are_held_against_few(self):
        record = a_record("leaves", {"pgsluice": [1]}, {"leaves": [16, 100]}, {"leaves": 16})
        many = a_record("leaves", {"pgsluice": [1.25]}, {}, {"leaves": 100})
        psql, few, _ = judge("leaves", replace(record, loads=record.loads + many.loads))
        self.assertEqual((psql.measured, few.measured), (None, 1.25))

    def test_a_goal_of_one_point_is_of_no_other(self):
        record = a_record("leaves", {"psql": [9], "pgsluice": [3]}, {}, {"leaves": 16})
        many = a_record("leaves", {"psql": [10], "pgsluice": [2]}, {}, {"leaves": 10_000})
        loads = record.loads + many.loads
        both = replace(record, loads=loads, head=replace(record.head, parameters={"leaves": [1]}))
        self.assertEqual(judge("leaves", both)[0].measured, 5)

    def test_a_table_is_held_against_the_best_of_the_others_and_a_file_in_each_case(self):
        accounts = {
            "pgsluice": [2],
            "python-load": [2.1],
            "python-adbc": [12.6],
            "python-polars": [10.5],
            "python-psycopg": [21],
            "python-pandas": [42],
        }
        record = a_record("python", accounts)
        others = a_record("python", {"pgsluice": [4], "python-load": [4]})
        months = [replace(load, case="months") for load in others.loads]
        hashed = [replace(load, case="hash") for load in record.loads]
        judged = judge("python", replace(record, loads=hashed + months))
        self.assertEqual([each.measured for each in judged], [5, 1.05, 1, 20])

    def test_rows_of_a_table_are_held_against_psql_on_the_same_servers_and_leaves(self):
        parts = [
            a_record(
                "relation",
                {
                    "psql-insert": [10 * times],
                    "psql-pipe": [12 * times],
                    "pgsluice-relation": [4],
                    "pgsluice-from": [4],
                },
                {},
                {"key": key},
            )
            for key, times in ((0, 1), (1, 2))
        ]
        record = replace(parts[0], loads=[load for part in parts for load in part.loads])
        *judged, _ = judge("relation", record)
        self.assertEqual([each.measured for each in judged], [2.5, 5, 3, 6])
        self.assertEqual({each.verdict for each in judged}, {"holds"})

    def test_the_grid_is_judged_where_programs_connect_by_a_socket(self):
        record = a_record("grid", {"psql": [1]})
        figure = by_socket(lambda record: record.median("seconds", "psql"))
        self.assertIsNone(figure(record))
        head = replace(record.head, parameters={**record.head.parameters, "socket": 1})
        self.assertEqual(figure(replace(record, head=head)), 1)

    def test_nothing_is_measured_where_all_was_left_out(self):
        for case in TABLES:
            for judged in judge(case, a_record(case, {"other": [1]}, {"leaves": [16, 100]})):
                self.assertEqual(judged.verdict, "not measured", case)

    def test_each_is_of_a_benchmark_that_the_report_shows(self):
        for goal in GOALS:
            self.assertIn(goal.case, {*TABLES, *(part for each in PARTS.values() for part in each)})


if __name__ == "__main__":
    unittest.main()
