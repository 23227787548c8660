//! Checks whether a ledger may be used. Code that its owner has attached to it would run with the rights of
//! the role that loads, or merely lists loads.
//!
//! Each session checks the ledger before its first use, under a lock that blocks CREATE TRIGGER. The tables
//! must be plain, and exactly as pgsluice creates them. Only this role, superusers and the owner of the
//! database, who are trusted anyway, may be able to change them. Nothing can therefore be attached to them
//! after the check either.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::schema::Schema;
use super::tables::{TABLES, Table};
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::pg::sql::{BEGIN, PG_CATALOG_ONLY, literal};
use crate::pg::template::fill;

/// The use that a session makes of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Query for a row for each of the ledger's tables `{names}` in the schema `{schema}`. It must run under
/// [`PG_CATALOG_ONLY`]. Because every session runs it, it relies on the flags of `pg_class` for triggers,
/// rules and children. They may be set without need; in that case [`FLAWS`] decides.
const LOOK: &str = "
SELECT c.relname,
       c.relkind = 'r' AND c.reloftype = 0 AND c.relchecks = 0
       AND NOT (c.relhastriggers OR c.relhasrules OR c.relrowsecurity OR c.relhassubclass OR c.relispartition)
       AND EXISTS (SELECT FROM pg_roles r WHERE r.oid = c.relowner
                   AND (r.rolsuper OR r.rolname = current_user OR r.oid = d.datdba))
       AND EXISTS (SELECT FROM pg_roles r WHERE r.oid = n.nspowner
                   AND (r.rolsuper OR r.rolname = current_user OR r.oid = d.datdba))
       AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) AS a
                       WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner),
       c.relpersistence, {columns of c.oid}, {indexes of c.oid}
FROM pg_namespace n
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (ARRAY[{names}]::name[])
JOIN pg_database d ON d.datname = current_database()
WHERE n.nspname = {schema}";

/// The columns of a table, spelled like [`super::tables::Table::shape`].
const COLUMNS: &str = "(
        SELECT string_agg(concat_ws(' ', attname,
                              CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname END,
                              CASE WHEN attnotnull THEN 'not null' END,
                              CASE WHEN atthasdef OR attidentity <> '' OR attgenerated <> ''
                                   THEN 'computed' END),
                          ', ' ORDER BY attname COLLATE \"C\")
        FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
        WHERE attrelid = {table} AND attnum > 0 AND NOT attisdropped)";

/// The indexes of a table, spelled like [`super::tables::Table::indexes`].
const INDEXES: &str = "(
        SELECT COALESCE(string_agg(concat_ws(' ',
                   CASE WHEN indisprimary THEN 'key' WHEN indisunique THEN 'unique' ELSE 'index' END,
                   (SELECT string_agg(attname, ' ' ORDER BY place)
                    FROM unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
                    LEFT JOIN pg_attribute a ON a.attrelid = indrelid AND a.attnum = k.attnum),
                   CASE WHEN indexprs IS NOT NULL OR indpred IS NOT NULL THEN 'computed' END),
               ', ' ORDER BY indexrelid), '')
        FROM pg_index WHERE indrelid = {table})";

/// Query for the first flaw and the statement that fixes it. It must run under [`PG_CATALOG_ONLY`].
/// `{values}` are the tables, `{schema}` is the name of the schema.
const FLAWS: &str = "
WITH expected (name, persistence, columns, indexes) AS (VALUES {values}),
trusted (role) AS (
    SELECT oid FROM pg_roles WHERE rolsuper OR rolname = current_user
    UNION SELECT datdba FROM pg_database WHERE datname = current_database()
),
home AS (SELECT oid, nspowner FROM pg_namespace WHERE nspname = {schema}),
found AS (
    SELECT e.*, format('%I.%I', {schema}, e.name) AS label, c.oid, c.relkind, c.relpersistence,
           c.relowner, c.relacl, c.relrowsecurity, c.relispartition, c.reloftype
    FROM expected e CROSS JOIN home h
    LEFT JOIN pg_class c ON c.relnamespace = h.oid AND c.relname = e.name
)
SELECT why, mend FROM (
    SELECT 1 AS step, format('schema %I belongs to role %I', {schema}, pg_get_userbyid(nspowner)) AS why,
           NULL AS mend
    FROM home WHERE nspowner NOT IN (SELECT role FROM trusted)
    UNION ALL
    SELECT 2, format('table %s does not exist', label), NULL FROM found WHERE oid IS NULL
    UNION ALL
    SELECT 3, format('%s is not a plain table', label), NULL FROM found
    WHERE relkind <> 'r' OR relispartition OR reloftype <> 0 OR relpersistence <> persistence::\"char\"
       OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = oid OR i.inhparent = oid)
    UNION ALL
    SELECT 4, format('table %s belongs to role %I', label, pg_get_userbyid(relowner)), NULL
    FROM found WHERE relowner NOT IN (SELECT role FROM trusted)
    UNION ALL
    SELECT 5, format('table %s has the trigger %I', label, tgname),
           format('DROP TRIGGER %I ON %s;', tgname, label)
    FROM found JOIN pg_trigger ON tgrelid = found.oid
    UNION ALL
    SELECT 6, format('table %s has the rule %I', label, rulename),
           format('DROP RULE %I ON %s;', rulename, label)
    FROM found JOIN pg_rewrite ON ev_class = found.oid
    UNION ALL
    SELECT 7, format('table %s has row security', label), NULL
    FROM found WHERE relrowsecurity OR EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = found.oid)
    UNION ALL
    SELECT 8, format('table %s has the constraint %I', label, conname),
           format('ALTER TABLE %s DROP CONSTRAINT %I;', label, conname)
    FROM found JOIN pg_constraint ON conrelid = found.oid
    WHERE contype NOT IN ('p', 'n')
    UNION ALL
    SELECT 9, format('the columns of table %s are not those of a ledger', label), NULL
    FROM found WHERE columns IS DISTINCT FROM {columns of found.oid}
    UNION ALL
    SELECT 10, format('the indexes of table %s are not those of a ledger', label), NULL
    FROM found WHERE indexes IS DISTINCT FROM {indexes of found.oid}
    UNION ALL
    SELECT 11, format('role %s may create triggers on table %s', who, label),
           format('REVOKE TRIGGER ON ALL TABLES IN SCHEMA %I FROM %s;', {schema}, who)
    FROM (SELECT label, relowner, (aclexplode(relacl)).* FROM found) AS acl
    CROSS JOIN LATERAL (
        SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) AS w (who)
    WHERE privilege_type = 'TRIGGER' AND grantee <> relowner AND grantee NOT IN (SELECT role FROM trusted)
) AS flaw
ORDER BY step, why LIMIT 1";

/// Rejects a ledger that may not be used. The session must not be in a transaction.
pub(crate) async fn check(schema: &Schema, client: &Client, access: Access) -> Result<()> {
    let look = async {
        let answers = client.simple_query(&look(schema, access)).await?;
        if is_sound(&answers) {
            return Ok(None);
        }
        client.simple_query(&in_lock(schema, &TABLES, access, &flaws(schema))).await.map(Some)
    };
    match look.await {
        Ok(answers) => answers.map_or(Ok(()), |answers| refuse(schema, &answers)),
        Err(error) => Err(schema.refused(client, error).await),
    }
}

/// Returns the statements by which a session checks the ledger, as a separate transaction. [`is_sound`] reads
/// from the answers whether the ledger may be used without a closer look.
pub(crate) fn look(schema: &Schema, access: Access) -> String {
    let names = TABLES.iter().map(|table| format!("'{}'", table.name)).collect::<Vec<_>>();
    let look = fill(LOOK, &[("names", &names.join(", "))]);
    in_lock(schema, &TABLES, access, &with_shapes(schema, &look))
}

/// Whether all tables exist and are correct.
pub(crate) fn is_sound(answers: &[SimpleQueryMessage]) -> bool {
    TABLES.iter().all(|table| {
        let persistence = if table.is_logged { "p" } else { "u" };
        let (columns, indexes) = (table.shape(), table.indexes());
        let expected = [table.name, "t", persistence, &columns, &indexes].map(Some);
        answers.iter().any(|answer| match answer {
            SimpleQueryMessage::Row(row) => [0, 1, 2, 3, 4].map(|at| row.get(at)) == expected,
            _ => false,
        })
    })
}

/// Returns `query` in a separate transaction, under a lock that keeps `tables` unchanged.
pub(super) fn in_lock(schema: &Schema, tables: &[Table], access: Access, query: &str) -> String {
    let mode = match access {
        Access::Read => "ACCESS SHARE",
        // CREATE TRIGGER waits for this mode. SELECT alone is not enough to take it.
        Access::Write => "ROW EXCLUSIVE",
    };
    let tables = tables.iter().map(|table| format!("{{ledger}}.{}", table.name));
    let tables = tables.collect::<Vec<_>>().join(", ");
    let lock = schema.sql(&format!("LOCK TABLE {tables} IN {mode} MODE"));
    format!("{BEGIN}; {}; {lock}; {query}; COMMIT", local(PG_CATALOG_ONLY))
}

/// Returns [`FLAWS`] for the tables of this format.
fn flaws(schema: &Schema) -> String {
    let expected = TABLES.iter().map(|table| {
        let persistence = if table.is_logged { "p" } else { "u" };
        let shapes = [table.shape(), table.indexes()].map(|shape| literal(shape.as_bytes()));
        format!("('{}', '{persistence}', {})", table.name, shapes.join(", "))
    });
    let values = expected.collect::<Vec<_>>().join(", ");
    with_shapes(schema, &FLAWS.replace("{values}", &values))
}

fn with_shapes(schema: &Schema, query: &str) -> String {
    let mut query = query.replace("{schema}", &literal(schema.name().as_bytes()));
    for table in ["c.oid", "found.oid"] {
        for (name, shape) in [("columns", COLUMNS), ("indexes", INDEXES)] {
            let shape = shape.replace("{table}", table);
            query = query.replace(&format!("{{{name} of {table}}}"), &shape);
        }
    }
    query
}

/// Limits a setting to the transaction.
pub(super) fn local(setting: &str) -> String {
    setting.replacen("SET ", "SET LOCAL ", 1)
}

/// Returns the error for a ledger in which `answers` report a flaw.
fn refuse(schema: &Schema, answers: &[SimpleQueryMessage]) -> Result<()> {
    let flaw = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?.to_owned(), row.get(1))),
        _ => None,
    });
    let Some((why, mend)) = flaw else { return Ok(()) };
    let name = pgsluice_core::catalog::label(schema.name());
    let message = format!("the ledger in schema {name} cannot be trusted: {why}");
    let mend = mend.map(|mend| format!("Fix it: {mend} ")).unwrap_or_default();
    let hint = Words::from(mend)
        + "Use another ledger: "
        + option("ledger").with("SCHEMA")
        + "; or none: "
        + option("no-ledger")
        + ".";
    Err(Error::new(Kind::Server, message)
        .with_sqlstate("42501")
        .with_detail(
            "Code that other roles attach to its tables would run with the privileges of this \
             role. The tables must be as pgsluice creates them, and be owned by this role, a \
             superuser or the owner of the database.",
        )
        .with_hint(hint)
        .permanent())
}
