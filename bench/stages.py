"""Time what each stage of the core costs one thread, by the benchmarks of crates/core/benches.

Run it by `make bench CASE=stages`. The record holds criterion's medians.
"""

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from bench import program
from bench.place import ROOT

COMMAND = ["cargo", "bench", "--locked", "--quiet", "-p", "pgsluice-core", "--bench", "stages"]


def measure() -> dict:
    """Run criterion and return what the record holds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CRITERION_HOME": folder}
        subprocess.run([*COMMAND, "--", "--quiet"], cwd=ROOT, env=environment, check=True)
        files = sorted(Path(folder).glob("*/*/new"), key=lambda file: file.stat().st_mtime_ns)
        return {"case": {"threads": 1}, "stages": [stage(file) for file in files]}


def stage(folder: Path) -> dict:
    """Return one benchmark by the files that criterion keeps of it."""
    about = json.loads((folder / "benchmark.json").read_text())
    median = json.loads((folder / "estimates.json").read_text())["median"]["point_estimate"]
    size = about["throughput"]["ElementsAndBytes"]
    return {
        "stage": about["group_id"],
        "input": about["function_id"],
        "ns_a_row": round(median / size["elements"], 1),
        "gb_a_second": round(size["bytes"] / median, 3),
    }


if __name__ == "__main__":
    sys.exit(program.conclude("stages", measure, Namespace(whole=len(sys.argv) == 1)))
