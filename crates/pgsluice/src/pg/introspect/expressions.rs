//! The expressions in partition keys: their text from the server, and the columns that they may read.

use std::collections::HashMap;
use std::vec::IntoIter;

use pgsluice_core::expr::Expr;
use pgsluice_core::types::KeyType;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Row, Transaction};

use super::native::native;
use super::session::{DATABASE_COLLATION, SessionFacts, is_c};
use super::types::with_base_types;
use crate::error::Result;
use crate::pg::expression::{Collation, Operand, Scope, translate};

/// Query for all expressions of a key, separated by commas. In the session that reads the catalogue, only the
/// names of `pg_catalog` are unqualified.
const TEXTS: &str = "
SELECT partrelid, pg_catalog.pg_get_expr(partexprs, partrelid)
FROM pg_catalog.pg_partitioned_table
WHERE partrelid = ANY ($1)";

const COLUMNS: &str = with_base_types!(
    "
SELECT a.attrelid, a.attname, COALESCE(base.type, a.atttypid) AS base_type,
       COALESCE(base.modifier, a.atttypmod) AS modifier, a.attcollation,
       COALESCE(pg_catalog.to_jsonb(c) ->> 'collprovider', '') AS provider,
       COALESCE(pg_catalog.to_jsonb(c) ->> 'collctype', '') AS locale,
       a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL AS has_default
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN base ON base.domain = a.atttypid
LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped"
);

/// The expressions of each table's key that were not taken yet.
#[derive(Default)]
pub(super) struct Expressions(HashMap<Oid, IntoIter<Option<Expr>>>);

impl Expressions {
    /// Returns the next expression of the table, from the left; `None` if it is not evaluated natively.
    pub(super) fn next(&mut self, table: Oid) -> Option<Expr> {
        self.0.get_mut(&table)?.next()?
    }
}

/// Reads the expressions in the keys of `tables`, for an input with `columns`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    tables: Vec<Oid>,
    columns: &[String],
) -> Result<Expressions> {
    if tables.is_empty() {
        return Ok(Expressions::default());
    }
    let mut scopes: HashMap<Oid, Scope> = HashMap::new();
    for row in transaction.query_typed(COLUMNS, &[(&tables, Type::OID_ARRAY)]).await? {
        let name: String = row.get("attname");
        let place = columns.iter().position(|column| *column == name);
        let scope = scopes.entry(row.get("attrelid")).or_insert_with(|| session.scope());
        if let Some(operand) = session.operand(&row, place) {
            scope.columns.insert(name, operand);
        }
    }
    let texts = transaction.query_typed(TEXTS, &[(&tables, Type::OID_ARRAY)]).await?;
    let expressions = texts.iter().filter_map(|row| {
        let table: Oid = row.get(0);
        let exprs = translate(row.get::<_, Option<&str>>(1)?, scopes.get(&table)?);
        Some((table, exprs.into_iter()))
    });
    Ok(Expressions(expressions.collect()))
}

impl SessionFacts {
    fn scope(&self) -> Scope {
        Scope { columns: HashMap::new(), database: self.collation, utc: self.utc }
    }

    /// Returns a column as an operand; `None` if its values are not known natively.
    fn operand(&self, row: &Row, place: Option<usize>) -> Option<Operand> {
        let ty = Type::from_oid(row.get("base_type"))?;
        let ty = native(&ty, row.get("modifier"), self.zone)?;
        let read_alike = match ty {
            KeyType::Text | KeyType::Name | KeyType::Varchar { .. } | KeyType::Bpchar { .. } => {
                self.encoding == "UTF8"
            }
            KeyType::Timestamptz { .. } => self.zulu,
            _ => true,
        };
        let expr = match place {
            Some(place) => Expr::column(place, ty)?,
            None if row.get("has_default") => return None,
            None => Expr::null(&ty)?,
        };
        read_alike.then_some(Operand { expr, collation: self.collation_of(row) })
    }

    fn collation_of(&self, row: &Row) -> Option<Collation> {
        match row.get("attcollation") {
            0 => None,
            DATABASE_COLLATION => Some(self.collation),
            oid => Some(Collation { oid, ascii: is_c(row.get("provider"), row.get("locale")) }),
        }
    }
}
