//! Whether a ledger may be used: whatever its owner has put on it would run with the rights of the role
//! that loads, or merely lists.
//!
//! Each session looks before it uses the ledger for the first time, under a lock that CREATE TRIGGER waits
//! for. The tables must be plain, exactly what pgsluice makes, and nobody may be able to change them
//! who is not trusted anyway: this role, superusers, and the owner of the database. So nothing can
//! be put on them after the look either.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::schema::Schema;
use super::tables::TABLES;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::pg::sql::{BEGIN, OWN_NAMES, literal};

/// What a session does with the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The first thing that is not as it must be, of tables of any format, and what mends it; to be run under
/// [`OWN_NAMES`]. `{values}` are the tables, `{schema}` the name of the schema. A table's columns are only
/// looked at where the list has them.
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
    SELECT 2, format('there is no table %s', label), NULL FROM found WHERE oid IS NULL
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
    WHERE contype NOT IN ('p', 'n') AND columns IS NOT NULL
    UNION ALL
    SELECT 9, format('the columns of table %s are not those of a ledger', label), NULL
    FROM found WHERE columns IS NOT NULL AND columns IS DISTINCT FROM (
        SELECT string_agg(concat_ws(' ', attname,
                              CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname END,
                              CASE WHEN attnotnull THEN 'not null' END,
                              CASE WHEN atthasdef OR attidentity <> '' OR attgenerated <> ''
                                   THEN 'computed' END),
                          ', ' ORDER BY attname COLLATE \"C\")
        FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
        WHERE attrelid = found.oid AND attnum > 0 AND NOT attisdropped)
    UNION ALL
    SELECT 10, format('the indexes of table %s are not those of a ledger', label), NULL
    FROM found WHERE indexes IS NOT NULL AND indexes IS DISTINCT FROM (
        SELECT COALESCE(string_agg(concat_ws(' ',
                   CASE WHEN indisprimary THEN 'key' WHEN indisunique THEN 'unique' ELSE 'index' END,
                   (SELECT string_agg(attname, ' ' ORDER BY place)
                    FROM unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
                    LEFT JOIN pg_attribute a ON a.attrelid = indrelid AND a.attnum = k.attnum),
                   CASE WHEN indexprs IS NOT NULL OR indpred IS NOT NULL THEN 'computed' END),
               ', ' ORDER BY indexrelid), '')
        FROM pg_index WHERE indrelid = found.oid)
    UNION ALL
    SELECT 11, format('role %s may put triggers on table %s', who, label),
           format('REVOKE TRIGGER ON ALL TABLES IN SCHEMA %I FROM %s;', {schema}, who)
    FROM (SELECT label, relowner, (aclexplode(relacl)).* FROM found) AS acl
    CROSS JOIN LATERAL (
        SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) AS w (who)
    WHERE privilege_type = 'TRIGGER' AND grantee <> relowner AND grantee NOT IN (SELECT role FROM trusted)
) AS flaw
ORDER BY step, why LIMIT 1";

/// Refuses a ledger of format 2 that may not be used; the session must be in no transaction.
pub(crate) async fn check(schema: &Schema, client: &Client, access: Access) -> Result<()> {
    let sql = statements(schema, access);
    match client.simple_query(&sql).await {
        Ok(answers) => refuse(schema, &answers),
        Err(error) => Err(schema.refused(client, error).await),
    }
}

/// The statements by which a session looks at the ledger, a transaction of their own; [`refuse`] must be
/// told the answers.
pub(crate) fn statements(schema: &Schema, access: Access) -> String {
    let mode = match access {
        Access::Read => "ACCESS SHARE",
        // What CREATE TRIGGER waits for; SELECT alone does not allow it.
        Access::Write => "ROW EXCLUSIVE",
    };
    let tables = TABLES.iter().map(|table| format!("{{ledger}}.{}", table.name));
    let tables = tables.collect::<Vec<_>>().join(", ");
    let lock = schema.sql(&format!("LOCK TABLE {tables} IN {mode} MODE"));
    let expected = TABLES.iter().map(|table| {
        let persistence = if table.is_logged { "p" } else { "u" };
        let [columns, indexes] =
            [table.shape(), table.indexes()].map(|text| literal(text.as_bytes()));
        format!("('{}', '{persistence}', {columns}, {indexes})", table.name)
    });
    let flaws = flaws(schema, expected);
    format!("{BEGIN}; {}; {lock}; {flaws}; COMMIT", local(OWN_NAMES))
}

/// The look at tables of format 1, which are about to be upgraded, under locks that are held.
pub(super) fn old_statements(schema: &Schema) -> String {
    let expected = TABLES.iter().map(|table| {
        let persistence = if table.is_logged { "p" } else { "u" };
        format!("('{}', '{persistence}', NULL::text, NULL::text)", table.name)
    });
    flaws(schema, expected)
}

fn flaws(schema: &Schema, expected: impl Iterator<Item = String>) -> String {
    FLAWS
        .replace("{values}", &expected.collect::<Vec<_>>().join(", "))
        .replace("{schema}", &literal(schema.name().as_bytes()))
}

/// A setting for the transaction only.
pub(super) fn local(setting: &str) -> String {
    setting.replacen("SET ", "SET LOCAL ", 1)
}

/// Refuses a ledger that `answers` say something of.
pub(crate) fn refuse(schema: &Schema, answers: &[SimpleQueryMessage]) -> Result<()> {
    let flaw = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?.to_owned(), row.get(1))),
        _ => None,
    });
    let Some((why, mend)) = flaw else { return Ok(()) };
    let name = pgsluice_core::catalog::label(schema.name());
    let message = format!("the ledger in schema {name} cannot be trusted: {why}");
    let other = "Keep another ledger: --ledger SCHEMA; or none: --no-ledger.";
    let hint = mend.map_or_else(|| other.to_owned(), |mend| format!("Mend it: {mend} {other}"));
    Err(Error::new(Kind::Server, message)
        .sqlstate("42501")
        .detail(
            "What others can put on its tables would run with the rights of this role. They must be as \
             pgsluice makes them, and belong to this role, a superuser or the owner of the database.",
        )
        .hint(hint)
        .lasting())
}
