"""The server to use: from `-d`, with psql's meaning, and otherwise from the environment."""

import os

import psycopg
from psycopg import conninfo

from pgsluice_lab.failure import LabError

# As in pgsluice, each of these alone chooses a server.
PLACES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE")
SCHEMES = ("postgresql://", "postgres://")


def find(given: str | None) -> str | None:
    """Return the connection string of `given`, else of the environment; None if none is named.

    An empty string leaves everything to `PG*`, as in libpq.
    """
    if given is not None:
        return conninfo_of(given)
    if any(os.environ.get(name) for name in PLACES):
        return ""
    url = os.environ.get("DATABASE_URL")
    return conninfo_of(url) if url else None


def conninfo_of(text: str) -> str:
    """Return a connection string: `text` itself, or one for the database of this name."""
    if not text.startswith(SCHEMES) and "=" not in text:
        return conninfo.make_conninfo(dbname=text) if text else ""
    parts(text)
    return text


def parts(text: str) -> dict[str, object]:
    """Return the options of a connection string; an unreadable one is an error."""
    try:
        return conninfo.conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:
        raise LabError(
            "cannot read where to connect to",
            str(error).strip(),
            "-d takes a database name, a URL (postgresql://...), or 'host=... dbname=...'.",
            status=2,
        ) from error
