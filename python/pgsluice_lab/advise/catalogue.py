"""Reads the facts from the server, in one read-only transaction."""

import psycopg
from psycopg import errors
from psycopg.rows import namedtuple_row

from pgsluice_lab.advise.facts import Column, Facts, Node, Server
from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site

# The table's name is looked up as in the user's own sessions, but no other name is.
USERS_PATH = "SET LOCAL search_path TO DEFAULT"
FOUND = """SELECT c.oid, c.relkind, c.relpersistence,
        CASE WHEN c.relispartition THEN
            pg_catalog.pg_partition_root(c.oid)::pg_catalog.regclass::pg_catalog.text END AS root
    FROM pg_catalog.pg_class c
    WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s)"""
# The server then qualifies the names that it deparses, and spells bounds as in the scratch copy.
QUIET = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET LOCAL search_path = pg_catalog",
    "SET LOCAL datestyle = 'ISO, MDY'",
    "SET LOCAL intervalstyle = 'postgres'",
)
NODES = """WITH RECURSIVE tree AS (
        SELECT %s::oid AS id, NULL::oid AS parent, 0 AS level
        UNION ALL
        SELECT c.oid, i.inhparent, level + 1
        FROM tree JOIN pg_inherits i ON i.inhparent = id
        JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition)
    SELECT id, tree.parent, level, format('%%I.%%I', n.nspname, c.relname) AS name,
        c.relkind AS kind, coalesce(pg_get_partkeydef(id), '') AS key,
        coalesce(pg_get_expr(c.relpartbound, id), '') AS bound,
        c.relpersistence = 'u' AS unlogged, coalesce(c.reloptions, '{}') AS options,
        (SELECT count(*) FROM pg_index WHERE indrelid = id) AS indexes,
        c.reltuples AS rows, pg_relation_size(id) AS heap, pg_table_size(id) AS bytes,
        pg_indexes_size(id) AS index_bytes, has_table_privilege(id, 'SELECT') AS readable
    FROM tree JOIN pg_class c ON c.oid = id JOIN pg_namespace n ON n.oid = c.relnamespace
    ORDER BY level, id"""
COLUMNS = """SELECT quote_ident(attname) AS name, attgenerated <> '' AS generated,
        attidentity <> '' AS identity,
        CASE WHEN attgenerated = '' THEN coalesce(pg_get_expr(adbin, adrelid), '') ELSE '' END
            AS default,
        pg_get_expr(adbin, adrelid) ~ 'nextval' IS TRUE OR EXISTS (
            SELECT FROM pg_depend JOIN pg_class s ON s.oid = refobjid AND s.relkind = 'S'
            WHERE classid = 'pg_attrdef'::regclass AND objid = d.oid
            AND refclassid = 'pg_class'::regclass) AS sequence,
        EXISTS (
            SELECT FROM pg_depend JOIN pg_proc p ON p.oid = refobjid
            JOIN pg_language l ON l.oid = prolang AND lanname NOT IN ('internal', 'c')
            WHERE classid = 'pg_attrdef'::regclass AND objid = d.oid
            AND refclassid = 'pg_proc'::regclass) AS code
    FROM pg_attribute LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
LEAF_INDEXES = """SELECT pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = %s AND indisvalid
    AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid) ORDER BY indexrelid"""
# Objects that a partition inherited from its parent count once.
NOT_COPIED = """SELECT
    (SELECT count(*) FROM pg_trigger
        WHERE tgrelid = ANY (%(all)s) AND NOT tgisinternal AND tgparentid = 0) AS triggers,
    (SELECT count(*) FROM pg_constraint
        WHERE conrelid = ANY (%(all)s) AND contype = 'f' AND conparentid = 0) AS foreign_keys,
    (SELECT count(*) FROM pg_rewrite WHERE ev_class = ANY (%(all)s)) AS rules"""
SERVER = """SELECT current_setting('server_version') AS version,
    pg_size_bytes(current_setting('max_wal_size')) AS max_wal_size,
    (SELECT setting::int FROM pg_settings WHERE name = 'checkpoint_timeout')
        AS checkpoint_timeout,
    current_setting('checkpoint_completion_target')::float AS checkpoint_completion_target,
    current_setting('wal_level') AS wal_level, current_setting('archive_mode') AS archive_mode,
    current_setting('max_locks_per_transaction')::int AS max_locks_per_transaction,
    current_setting('max_connections')::int AS max_connections,
    current_setting('max_prepared_transactions')::int AS max_prepared_transactions,
    (SELECT count(*)::int FROM pg_stat_replication) AS replicas,
    (SELECT count(*)::int FROM pg_replication_slots) AS slots"""
OTHERS = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
    "S": "a sequence",
    "i": "an index",
    "I": "an index",
    "c": "a composite type",
    "t": "a TOAST table",
}


def read(site: Site, table: str) -> Facts:
    """Return the facts of the table of this name, written as in SQL."""
    with site.connection.cursor(row_factory=namedtuple_row) as cursor:
        oid = find(cursor, table)
        with site.connection.transaction():
            for statement in QUIET:
                cursor.execute(statement)
            rows = cursor.execute(NODES, [oid]).fetchall()
            numbers = {row.id: number for number, row in enumerate(rows)}
            nodes = [node(row, numbers) for row in rows]
            return Facts(
                table,
                nodes,
                [Column(**each._asdict()) for each in cursor.execute(COLUMNS, [oid])],
                leaf_indexes(cursor, rows),
                **cursor.execute(NOT_COPIED, {"all": [row.id for row in rows]})
                .fetchone()
                ._asdict(),
                server=Server(**cursor.execute(SERVER).fetchone()._asdict()),
            )


def find(cursor: psycopg.Cursor, table: str) -> int:
    """Return the oid of the table, if advice on it is possible."""
    try:
        with cursor.connection.transaction():
            cursor.execute(USERS_PATH)
            row = cursor.execute(FOUND, [table]).fetchone()
    except (errors.InvalidName, errors.SyntaxError) as error:
        hint = 'Write it as in SQL: orders, sales.orders, "Orders".'
        raise LabError(f"{table} is not the name of a table", describe(error), hint) from error
    except psycopg.Error as error:
        raise LabError(f"could not look {table} up", describe(error)) from error
    if row is None:
        hint = 'Name the schema if it is not on the search_path; "Orders" is not orders.'
        raise LabError(f"there is no table {table} in this database", hint=hint)
    if kind := OTHERS.get(row.relkind):
        raise LabError(f"{table} is {kind}", hint="Advice is given on tables that hold rows.")
    if row.root:
        raise LabError(
            f"{table} is a partition of {row.root}",
            "What partitioning costs is seen from the root.",
            f"Ask for: -t {row.root}",
        )
    if row.relpersistence == "t":
        raise LabError(f"{table} is a temporary table", hint="Only its own session can load it.")
    return row.oid


def node(row: tuple, numbers: dict[int, int]) -> Node:
    """Return a node of the tree. A missing estimate is not an estimate of 0 rows."""
    guess = int(row.rows) if row.rows > 0 else None
    return Node(
        name=row.name,
        parent=numbers.get(row.parent),
        level=row.level,
        kind=row.kind,
        key=row.key,
        bound=row.bound,
        unlogged=row.unlogged,
        options=tuple(row.options),
        indexes=row.indexes,
        rows=0 if row.heap == 0 and row.kind == "r" else guess,
        bytes=row.bytes,
        index_bytes=row.index_bytes,
        empty=row.heap == 0,
        readable=row.readable,
    )


def leaf_indexes(cursor: psycopg.Cursor, rows: list[tuple]) -> list[str]:
    """Return the indexes that only the first leaf has, each from its USING on."""
    leaf = next((row for row in rows[1:] if row.kind == "r"), None)
    if leaf is None:
        return []
    definitions = [definition for [definition] in cursor.execute(LEAF_INDEXES, [leaf.id])]
    return [each.split(f" ON {leaf.name} ", 1)[1] for each in definitions]


def describe(error: psycopg.Error) -> str:
    return str(error).strip()
