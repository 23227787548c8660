"""Writers to which the server reports how long they wait for locks.

Messages of the level LOG reach the client, in English. The server reports waits longer than
`deadlock_timeout`. Only a superuser may change these settings, such as the role of the embedded
server.
"""

import re
from contextlib import AbstractContextManager

from pgsluice_lab.site import Site
from pgsluice_lab.writers.pgbench import Work, Writers
from pgsluice_lab.writers.pgbench import writing as writing_as

from bench.move.options import Options

REPORTED_MS = 10
SETTINGS = (
    "client_min_messages=log",
    "lc_messages=C",
    "log_lock_waits=on",
    f"deadlock_timeout={REPORTED_MS}ms",
)
WAITED = re.compile(r"acquired \w+ on relation \d+ of database \d+ after ([0-9.]+) ms")


def writing(
    site: Site, schema: str, rows: int, options: Options
) -> AbstractContextManager[Writers]:
    """Run writers on the table of a schema, as fast as they can."""
    work = Work(rows, options.clients, settings=SETTINGS)
    return writing_as(site.url, site.environment(schema), work)


def longest_wait(printed: str) -> float:
    """Return the milliseconds of the longest printed wait for a table, or 0."""
    return max(map(float, WAITED.findall(printed)), default=0.0)
