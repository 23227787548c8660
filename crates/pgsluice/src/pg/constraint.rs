//! Partition constraints: reads from the server, as SQL, which rows a partition accepts.
//!
//! `pg_get_partition_constraintdef` deparses the check that the server makes of every row that is sent to a
//! partition by name. It includes the bounds of all levels above. Evaluated with the values of a row, it
//! shows whether the row belongs there. Nothing is inserted, any user can do this, and pgsluice needs no
//! logic of its own for bounds or hashes.
//!
//! The constraint must be read under [`super::sql::DEPARSE_SETTINGS`]. It is evaluated like COPY would, under
//! the user's search_path, so every name in it is qualified.

use std::collections::HashMap;

use pgsluice_core::catalog::quote_identifier;
use tokio_postgres::GenericClient;
use tokio_postgres::types::{Oid, Type};

use super::qualified::{qualify, qualify_type};
use super::sql::portable;
use crate::error::Result;

/// Returns the partition constraints of the tables `oids`. A table without an entry accepts every row.
pub(crate) async fn constraints(
    client: &impl GenericClient,
    oids: &[Oid],
) -> Result<HashMap<Oid, String>> {
    let sql = "SELECT oid, pg_catalog.pg_get_partition_constraintdef(oid)
               FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS partition (oid)";
    let rows = client.query_typed(sql, &[(&oids, Type::OID_ARRAY)]).await?;
    Ok(rows.iter().filter_map(|row| Some((row.get(0), row.get::<_, Option<_>>(1)?))).collect())
}

/// A column, with its modifier and collation, for reading values from text.
#[derive(Debug)]
pub(crate) struct ReadColumn {
    /// Its name, unquoted.
    pub(crate) name: String,
    /// Its type, qualified; `None` if the server's spelling is not understood.
    ty: Option<String>,
    collation: Option<String>,
    /// Whether its text must be read through a record, because a cast would read it differently from COPY.
    is_recorded: bool,
    /// Whether no query reads its text like COPY: a domain over JSON, or a system type with a cast function
    /// from text.
    pub(crate) is_unread: bool,
    /// Whether DateStyle determines how its values are written.
    pub(crate) is_date: bool,
}

/// Query for the columns. A cast from text reads an interval without its modifier, which determines the
/// meaning of a bare number. A cast to a user's type may be a function of the type's owner, which COPY would
/// never run. Casts to domains are ignored.
const COLUMNS: &str = "
WITH RECURSIVE base (attnum, type, modifier) AS (
    SELECT attnum, atttypid, atttypmod FROM pg_catalog.pg_attribute
    WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT base.attnum, t.typbasetype, t.typtypmod
    FROM base
    JOIN pg_catalog.pg_type t ON t.oid = base.type AND t.typtype = 'd'
)
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
       pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.collname),
       EXISTS (SELECT FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type
               WHERE base.attnum = a.attnum
                 AND (t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
                      OR base.modifier >= 0
                         AND base.type IN ('pg_catalog.interval'::pg_catalog.regtype,
                                           'pg_catalog.interval[]'::pg_catalog.regtype))),
       EXISTS (SELECT FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type
               WHERE base.attnum = a.attnum
                 AND (base.type <> a.atttypid
                      AND base.type IN ('pg_catalog.json'::pg_catalog.regtype,
                                        'pg_catalog.jsonb'::pg_catalog.regtype)
                      OR t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
                         AND base.type NOT IN ('pg_catalog.\"char\"'::pg_catalog.regtype,
                                               'pg_catalog.name'::pg_catalog.regtype)
                         AND EXISTS (SELECT FROM pg_catalog.pg_cast k
                                     WHERE k.casttarget = base.type
                                       AND k.castsource = 'pg_catalog.text'::pg_catalog.regtype
                                       AND k.castmethod <> 'b'))),
       EXISTS (SELECT FROM base WHERE base.attnum = a.attnum
               AND type IN ('pg_catalog.date'::pg_catalog.regtype,
                            'pg_catalog.timestamp'::pg_catalog.regtype,
                            'pg_catalog.timestamptz'::pg_catalog.regtype))
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum";

impl ReadColumn {
    /// Reads the columns of the table `oid`.
    pub(crate) async fn read_all(client: &impl GenericClient, oid: Oid) -> Result<Vec<Self>> {
        let rows = client.query_typed(COLUMNS, &[(&oid, Type::OID)]).await?;
        let column = |row: &tokio_postgres::Row| Self {
            name: row.get(0),
            ty: qualify_type(row.get(1)),
            collation: row.get(2),
            is_recorded: row.get(3),
            is_unread: row.get(4),
            is_date: row.get(5),
        };
        Ok(rows.iter().map(column).collect())
    }

    /// Whether its type or collation belongs to a user, so that the current user may lack the right to name
    /// it.
    pub(crate) fn is_user_defined(&self) -> bool {
        self.ty.as_deref().is_none_or(is_user_name)
            || self.collation.as_deref().is_some_and(is_user_name)
    }

    /// Returns SQL that reads `value`, an expression of type text, with the column's input function.
    pub(crate) fn read(&self, value: &str) -> Option<String> {
        let ty = self.ty.as_ref()?;
        let read = if self.is_recorded {
            json_input(value, ty, self.collation.as_deref())
        } else {
            format!("{value}::{ty}{}", collate(self.collation.as_deref()))
        };
        Some(format!("{read} AS {}", quote_identifier(&self.name)))
    }

    /// Returns SQL that writes `value`, an expression of the column's type, with its output function.
    pub(crate) fn output_sql(&self, value: &str) -> String {
        if self.is_recorded {
            format!(
                "CASE WHEN {value} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', {value}) END"
            )
        } else {
            format!("{value}::pg_catalog.text")
        }
    }
}

/// Returns SQL that reads `value`, an expression of type text, with the input function and the modifier of
/// the type `ty`, like `populate_scalar` in `jsonfuncs.c` reads a JSON string. No cast is involved.
fn json_input(value: &str, ty: &str, collation: Option<&str>) -> String {
    format!(
        "(SELECT value FROM pg_catalog.json_to_record(pg_catalog.json_build_object('value', {value})) \
         AS input (value {ty}{}))",
        collate(collation)
    )
}

/// Returns SQL that reads `value`, an expression of type text, as the type `ty`, which must not have a
/// modifier or be a domain.
pub(super) fn typed_sql(value: &str, ty: &str, collation: Option<&str>) -> String {
    if is_user_name(ty) {
        json_input(value, ty, collation)
    } else {
        format!("{value}::{ty}{}", collate(collation))
    }
}

/// Whether a qualified name belongs to a user instead of the system.
fn is_user_name(name: &str) -> bool {
    name.contains('.') && !name.starts_with("pg_catalog.")
}

pub(super) fn collate(collation: Option<&str>) -> String {
    collation.map_or_else(String::new, |name| format!(" COLLATE {name}"))
}

/// Returns a query for any session, whose parameters are the texts of the columns `given` of one row; all
/// other columns are NULL. It returns whether the row satisfies `constraint`, with the semantics of
/// `ExecPartitionCheck` in `execMain.c`. Returns `None` if a name in it cannot be qualified.
pub(crate) fn satisfaction_query(
    constraint: &str,
    columns: &[ReadColumn],
    given: &[&str],
) -> Option<String> {
    let column = |column: &ReadColumn| match given.iter().position(|name| *name == column.name) {
        Some(index) => column.read(&format!("${}::pg_catalog.text", index + 1)),
        None => column.read("NULL"),
    };
    let columns = columns.iter().map(column).collect::<Option<Vec<String>>>()?.join(", ");
    let constraint = everywhere(constraint)?;
    Some(format!("SELECT ({constraint}) IS NOT FALSE FROM (SELECT {columns}) AS key"))
}

/// Rewrites `deparsed` so that it means the same in every session, regardless of settings and search_path;
/// returns `None` if a name in it cannot be qualified.
pub(crate) fn everywhere(deparsed: &str) -> Option<String> {
    qualify(deparsed).map(|qualified| portable(&qualified))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_has_every_column_of_the_table() {
        let column = |name: &str, ty: &str, collation: Option<&str>| ReadColumn {
            name: name.to_owned(),
            ty: Some(ty.to_owned()),
            collation: collation.map(str::to_owned),
            is_recorded: false,
            is_unread: false,
            is_date: false,
        };
        let columns = [column("A", "s.t", None), column("b", "text", Some("pg_catalog.\"C\""))];
        assert_eq!(
            satisfaction_query("(b = 'x')", &columns, &["b"]).as_deref(),
            Some(
                "SELECT ((b OPERATOR(pg_catalog.=) 'x')) IS NOT FALSE FROM (SELECT NULL::s.t AS \"A\", \
                 $1::pg_catalog.text::text COLLATE pg_catalog.\"C\" AS \"b\") AS key"
            )
        );
        assert_eq!(satisfaction_query("(b IS DISTINCT FROM 'x')", &columns, &["b"]), None);
    }
}
