"""Read a table of an Arrow file into memory, load it in one way, and say what that took.

python -m bench.ways WAY FILE TABLE URL [--jobs N] [--memory MIB]
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

import pyarrow
from pyarrow import ipc

from bench.ways import Target
from bench.ways.spent import Meter

WAYS = sorted(file.stem for file in Path(__file__).parent.glob("by_*.py"))


def main(args: list[str] | None = None) -> int:
    """Load, and print a line of JSON; or say the versions."""
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
    data = way.ready(read(options.file))
    meter = Meter()
    figures = way.load(data, Target(options.table, options.url, options.jobs, options.memory))
    print(json.dumps({**meter.stop(), **(figures or {})}, separators=(",", ":")))
    return 0


def read(file: Path) -> pyarrow.Table:
    """Read a file into memory of this process: what is only mapped would be read while it loads."""
    with pyarrow.OSFile(str(file)) as source, ipc.open_file(source) as batches:
        return batches.read_all()


if __name__ == "__main__":
    sys.exit(main())
