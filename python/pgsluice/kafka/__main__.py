"""`python -m pgsluice.kafka`: `run` from a shell, as a service or until the end of the topics."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pgsluice.errors import Error, UsageError, usage_error
from pgsluice.kafka.result import KafkaResult
from pgsluice.kafka.running import run

_COLUMNS = ("key", "headers", "timestamp", "topic", "partition", "offset")
# Options of the writer, each with its help.
_WRITER = {
    "on_conflict": "existing rows: error, skip, update or delete",
    "key": "columns that identify a row, with commas between them",
    "update": "columns that are updated, with commas between them",
    "newer": "update only if this column is greater",
    "delete_when": "delete the rows of messages whose column is true",
    "load_id": "name of the positions in the ledger [default: kafka-GROUP]",
    "ledger": "schema of the ledger [default: pgsluice]",
    "wait": "keep retrying for so long while PostgreSQL is unreachable, such as 10min",
    "metrics": "file for metrics that Prometheus reads",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m pgsluice.kafka",
        description="Write the messages of Kafka topics into a table, each exactly once.",
        epilog="Exit status: 0 ended in order, 1 failed, 2 usage error.",
    )
    made.add_argument("topics", nargs="+", metavar="TOPIC", help="topic to read")
    made.add_argument("-t", "--table", required=True, help="target table, written as in SQL")
    made.add_argument("-d", "--conninfo", help="database, as a conninfo string or URL")
    made.add_argument("-g", "--group", required=True, help="consumer group")
    made.add_argument("-b", "--bootstrap-servers", help="brokers, such as localhost:9092")
    made.add_argument(
        "--config-file",
        type=Path,
        metavar="FILE",
        help="properties of the Kafka client: name=value",
    )
    made.add_argument(
        "--start",
        choices=("earliest", "latest"),
        default="earliest",
        help="where partitions without a position begin [default: %(default)s]",
    )
    for name in _COLUMNS:
        made.add_argument(f"--{name}-column", metavar="COLUMN", help=f"column for the {name}")
    made.add_argument("--reject-table", metavar="TABLE", help="table for messages that are no rows")
    made.add_argument(
        "--tombstones",
        choices=("reject", "skip"),
        default="reject",
        help="messages without a value [default: %(default)s]",
    )
    made.add_argument(
        "--skip-lost", action="store_true", help="continue after messages that were removed unread"
    )
    made.add_argument("--until-end", action="store_true", help="stop when all messages were read")
    made.add_argument("--flush-rows", type=int, default=10_000, metavar="N")
    made.add_argument("--flush-bytes", type=int, default=8 << 20, metavar="N")
    made.add_argument("--flush-seconds", type=float, default=1.0, metavar="SECONDS")
    for name, text in _WRITER.items():
        made.add_argument(f"--{name.replace('_', '-')}", help=text)
    made.add_argument("--ignore-extra", action="store_true", help="ignore names without a column")
    return made


def properties(file: Path) -> dict[str, str]:
    """Read properties in the format of Kafka's own tools: name=value lines, and # comments.

    Raises `UsageError`, which does not quote the line, because it may contain a password.
    """
    found = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            name, equals, value = text.partition("=")
            if not equals:
                raise usage_error(f"line {number} of {file} has no =", "Write NAME=VALUE.")
            found[name.strip()] = value.strip()
    return found


def main(args: Sequence[str]) -> int:
    """Run with the options of a command line. Return the exit status."""
    given = parser().parse_args(args)
    try:
        print(words(_run(given)), file=sys.stderr)
    except OSError as error:
        print(f"ERROR:  cannot read {given.config_file}: {error.strerror}", file=sys.stderr)
        return 2
    except Error as error:
        print(f"ERROR:  {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


def _run(given: argparse.Namespace) -> KafkaResult:
    columns = {name: getattr(given, f"{name}_column") for name in _COLUMNS}
    options: dict[str, Any] = {name: getattr(given, name) for name in _WRITER}
    return run(
        given.topics,
        given.table,
        given.conninfo,
        group=given.group,
        bootstrap_servers=given.bootstrap_servers,
        config=properties(given.config_file) if given.config_file else None,
        start=given.start,
        message_columns={name: column for name, column in columns.items() if column},
        reject_table=given.reject_table,
        tombstones=given.tombstones,
        skip_lost=given.skip_lost,
        until_end=given.until_end,
        flush_rows=given.flush_rows,
        flush_bytes=given.flush_bytes,
        flush_seconds=given.flush_seconds,
        ignore_extra=given.ignore_extra,
        **{name: value for name, value in options.items() if value is not None},
    )


def words(result: KafkaResult) -> str:
    """Return a summary on one line."""
    counts = {name: getattr(result.counts, name) for name in type(result.counts).__annotations__}
    outcome = ", ".join(
        f"{rows:,} {name.replace('_', ' ')}" for name, rows in counts.items() if rows
    )
    return (
        f"{result.messages:,} messages in {result.flushes:,} transactions"
        f"{': ' + outcome if outcome else ''}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
