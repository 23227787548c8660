"""Read the table of a Parquet file into memory, load it in one way, and report the cost.

python -m bench.ways WAY FILE TABLE URL [--jobs N] [--memory MIB]
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

import pyarrow
from pyarrow import parquet

from bench.ways import Target
from bench.ways.spent import Meter

WAYS = sorted(file.stem for file in Path(__file__).parent.glob("by_*.py"))


def main(args: list[str] | None = None) -> int:
    """Load and print a line of JSON, or print the versions."""
    parser = argparse.ArgumentParser(prog="ways", description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("table", nargs="?")
    parser.add_argument("url", nargs="?")
    parser.add_argument("--jobs", type=int, default=1, help="connections, of who has several")
    parser.add_argument("--memory", type=int, default=512, help="MiB, of who has a limit")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_args(args)
    way = import_module(f"bench.ways.{options.way}")
    if options.version:
        print(f"{way.VERSION}, pyarrow {pyarrow.__version__}")
        return 0
    if options.url is None:
        parser.error("FILE, TABLE and URL are needed")
    data = way.ready(parquet.read_table(options.file))
    meter = Meter()
    figures = way.load(data, Target(options.table, options.url, options.jobs, options.memory))
    print(json.dumps({**meter.stop(), **(figures or {})}, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
