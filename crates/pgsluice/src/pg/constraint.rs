//! Reads what the server itself says of a partition: which rows it takes, in SQL.
//!
//! `pg_get_partition_constraintdef` deparses the check that the server makes of every row that is sent
//! to a partition by name. It includes the bounds of all levels above. Evaluated over the values of a
//! row, it says whether the row belongs there. Nothing is inserted, any user can ask, and there is no
//! second opinion of ours on bounds or hashes.
//!
//! It must be read under [`super::sql::DEPARSE_SETTINGS`], and evaluated as COPY would, under the
//! user's search_path. So every name in it is qualified.

use std::collections::HashMap;

use pgsluice_core::catalog::quoted;
use tokio_postgres::GenericClient;
use tokio_postgres::types::{Oid, Type};

use super::qualified::{qualified, qualified_type};
use super::sql::portable;
use crate::error::Result;

/// The partition constraints of the tables `oids`; a table without an entry takes every row.
pub(crate) async fn constraints(
    client: &impl GenericClient,
    oids: &[Oid],
) -> Result<HashMap<Oid, String>> {
    let sql = "SELECT oid, pg_catalog.pg_get_partition_constraintdef(oid)
               FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS partition (oid)";
    let rows = client.query_typed(sql, &[(&oids, Type::OID_ARRAY)]).await?;
    Ok(rows.iter().filter_map(|row| Some((row.get(0), row.get::<_, Option<_>>(1)?))).collect())
}

/// A column as its values are read: with its modifier, and with its collation.
#[derive(Debug)]
pub(crate) struct ReadColumn {
    /// Its name, unquoted.
    pub(crate) name: String,
    /// Its type, qualified; None if the server writes it in a way that is not understood.
    ty: Option<String>,
    collation: Option<String>,
    /// A record reads its text as COPY does, and a cast does not.
    is_recorded: bool,
    /// No query reads its text as COPY does: a domain over JSON, or a type of the system that a function casts text to.
    pub(crate) is_unread: bool,
    /// DateStyle decides how its values are written.
    pub(crate) is_date: bool,
}

/// A cast from text reads an interval without its modifier, which decides what a bare number means. To a type of users it
/// can be a function of the type's owner, which COPY would never run. Casts to domains are ignored.
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
    /// The columns of the table `oid`.
    pub(crate) async fn of(client: &impl GenericClient, oid: Oid) -> Result<Vec<Self>> {
        let rows = client.query_typed(COLUMNS, &[(&oid, Type::OID)]).await?;
        let column = |row: &tokio_postgres::Row| Self {
            name: row.get(0),
            ty: qualified_type(row.get(1)),
            collation: row.get(2),
            is_recorded: row.get(3),
            is_unread: row.get(4),
            is_date: row.get(5),
        };
        Ok(rows.iter().map(column).collect())
    }

    /// Whether its type or collation is not the system's, so that this user may lack the right to name it.
    pub(crate) fn is_own(&self) -> bool {
        self.ty.as_deref().is_none_or(is_own) || self.collation.as_deref().is_some_and(is_own)
    }

    /// `value`, an expression of type text, read by the column's own input function.
    pub(crate) fn read(&self, value: &str) -> Option<String> {
        let ty = self.ty.as_ref()?;
        let read = if self.is_recorded {
            recorded(value, ty, self.collation.as_deref())
        } else {
            format!("{value}::{ty}{}", collate(self.collation.as_deref()))
        };
        Some(format!("{read} AS {}", quoted(&self.name)))
    }

    /// `value`, an expression of the column's type, written by its output function.
    pub(crate) fn written(&self, value: &str) -> String {
        if self.is_recorded {
            format!(
                "CASE WHEN {value} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', {value}) END"
            )
        } else {
            format!("{value}::pg_catalog.text")
        }
    }
}

/// `value`, an expression of type text, read by the input function of the type `ty`, with its modifier: as
/// `populate_scalar` in `jsonfuncs.c` reads a JSON string. No cast takes part in that.
fn recorded(value: &str, ty: &str, collation: Option<&str>) -> String {
    format!(
        "(SELECT value FROM pg_catalog.json_to_record(pg_catalog.json_build_object('value', {value})) \
         AS input (value {ty}{}))",
        collate(collation)
    )
}

/// `value`, an expression of type text, as the type `ty`, which must have no modifier and must not be a domain.
pub(super) fn typed(value: &str, ty: &str, collation: Option<&str>) -> String {
    if is_own(ty) {
        recorded(value, ty, collation)
    } else {
        format!("{value}::{ty}{}", collate(collation))
    }
}

/// Whether a qualified name is not the system's.
fn is_own(name: &str) -> bool {
    name.contains('.') && !name.starts_with("pg_catalog.")
}

pub(super) fn collate(collation: Option<&str>) -> String {
    collation.map_or_else(String::new, |name| format!(" COLLATE {name}"))
}

/// Returns a query, for any session, whose parameters are the texts of the columns `given` of one row;
/// the others are NULL. It says whether the row meets `constraint`, as `ExecPartitionCheck` in
/// `execMain.c` counts it. None if a name in it cannot be qualified.
pub(crate) fn meets(constraint: &str, columns: &[ReadColumn], given: &[&str]) -> Option<String> {
    let column = |column: &ReadColumn| match given.iter().position(|name| *name == column.name) {
        Some(index) => column.read(&format!("${}::pg_catalog.text", index + 1)),
        None => column.read("NULL"),
    };
    let columns = columns.iter().map(column).collect::<Option<Vec<String>>>()?.join(", ");
    let constraint = everywhere(constraint)?;
    Some(format!("SELECT ({constraint}) IS NOT FALSE FROM (SELECT {columns}) AS key"))
}

/// `deparsed` as it reads the same in every session, whatever its settings and its search_path; None if
/// a name in it cannot be qualified.
pub(crate) fn everywhere(deparsed: &str) -> Option<String> {
    qualified(deparsed).map(|qualified| portable(&qualified))
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
            meets("(b = 'x')", &columns, &["b"]).as_deref(),
            Some(
                "SELECT ((b OPERATOR(pg_catalog.=) 'x')) IS NOT FALSE FROM (SELECT NULL::s.t AS \"A\", \
                 $1::pg_catalog.text::text COLLATE pg_catalog.\"C\" AS \"b\") AS key"
            )
        );
        assert_eq!(meets("(b IS DISTINCT FROM 'x')", &columns, &["b"]), None);
    }
}
