"""The names in Python equal the names of the command line and of `--json`, without exception."""

import inspect
import json
import re
import subprocess
import unittest
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pgsluice
from formats.place import program
from pgsluice import options

SCHEMA = Path(__file__).parents[3] / "docs/manual/json.schema.json"
# Options that only the command line has, about output and typed passwords.
ONLY_THERE = {"log", "log-format", "json", "quiet", "password", "no-password", "help"}
# Options that are arguments of `relation` in Python.
OF_RELATION = {"from-table", "from", "where"}
DATA = {"data", "table", "conninfo"}
# The command of each function, its options, and its other arguments.
FUNCTIONS = {
    pgsluice.load: ("load", options.Options, DATA | {"progress"}),
    pgsluice.aload: ("load", options.Options, DATA | {"progress"}),
    pgsluice.plan: ("plan", options.PlanOptions, DATA),
    pgsluice.verify: ("verify", options.VerifyOptions, DATA),
    pgsluice.tree: ("tree", options.TreeOptions, {"table", "conninfo"}),
    pgsluice.ledger: ("ledger list", options.LedgerOptions, {"table", "conninfo"}),
    pgsluice.ledger_finish: ("ledger finish", options.FinishOptions, {"load_id", "conninfo"}),
    pgsluice.ledger_show: ("ledger show", options.LedgerOptions, {"load_id", "conninfo"}),
}
# The name in the schema of each result.
RESULTS = {
    pgsluice.LoadResult: "load",
    pgsluice.PlanResult: "plan",
    pgsluice.VerifyResult: "verify",
    pgsluice.Tree: "tree",
    tuple[pgsluice.LedgerEntry, ...]: "ledger_list",
    pgsluice.LedgerDetails: "ledger_show",
    pgsluice.FinishedLoad: "ledger_finish",
}
# A failure is an exception in Python, and only the command line partitions a table.
NO_RESULT = {"failure", "partition", "partition_plan", "partition_status"}
PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}


class Names(unittest.TestCase):
    def test_options_are_those_of_the_command_line(self):
        for function, (command, known, other) in FUNCTIONS.items():
            shown = subprocess.run(
                [program(), *command.split(), "--help"], capture_output=True, text=True, check=True
            )
            # The descriptions of options are indented further.
            heads = " ".join(re.findall(r"^ {2,6}-.*", shown.stdout, re.MULTILINE))
            there = set(re.findall(r"--([a-z][a-z-]*)", heads)) - ONLY_THERE
            if "data" in other:
                self.assertLess(OF_RELATION, there, command)
            there -= OF_RELATION
            here = {name.replace("_", "-") for name in known.__annotations__}
            beside = {"table", "dbname"} if "table" in other else {"dbname"}
            self.assertEqual(there, here | beside, command)
            names = set(inspect.signature(function).parameters)
            self.assertEqual(names, other | set(known.__annotations__))
        # The options of `leaf` are also options of a plan.
        self.assertLess(
            set(options.LeafOptions.__annotations__), set(options.PlanOptions.__annotations__)
        )

    def test_a_result_has_what_json_has(self):
        schemas = json.loads(SCHEMA.read_text())["$defs"]
        self.assertEqual(set(RESULTS.values()) | NO_RESULT, set(schemas))
        for kind, name in RESULTS.items():
            self.assert_same(schemas[name], kind, name)

    def assert_same(self, schema: dict, kind: Any, where: str) -> None:
        """Compare a schema with the type of a field, including their contents."""
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if kind is Any:
            self.assertGreater(len(kinds), 1, where)
            return
        if get_origin(kind) is UnionType:
            self.assertEqual((kinds.pop(), get_args(kind)[1]), ("null", type(None)), where)
            kind = get_args(kind)[0]
        self.assertEqual(len(kinds), 1, where)
        if is_dataclass(kind):
            hints = get_type_hints(kind)
            self.assertEqual(set(hints), set(schema["properties"]), where)
            for name, each in schema["properties"].items():
                self.assert_same(each, hints[name], f"{where}.{name}")
        elif get_origin(kind) is tuple:
            self.assertEqual(kinds, ["array"], where)
            for item in set(get_args(kind)) - {...}:
                self.assert_same(schema["items"], item, f"{where}[]")
        elif not isinstance(kind, type):
            self.assertIn(kinds[0], ("string", "object"), where)
            if "enum" in schema:
                self.assertEqual(set(get_args(kind)), set(schema["enum"]), where)
        else:
            self.assertIs(kind, PLAIN[kinds[0]], where)


if __name__ == "__main__":
    unittest.main()
