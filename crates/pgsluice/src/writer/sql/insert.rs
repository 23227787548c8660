//! INSERT of rows that are too few for a COPY, with an array for each column. It stores the same values as
//! COPY BINARY would for the same bytes.

use pgsluice_core::catalog::{Relation, quote_identifier};
use tokio_postgres::types::{Kind, Oid, Type};
use tokio_postgres::{Client, Error, Statement};

use crate::pg::template::fill;
use crate::sink::sql::changes::Apply;

/// A query whether an INSERT into the table `$1` does the same as COPY: no rule rewrites it, and row
/// security, which COPY refuses, is off.
const IS_PLAIN: &str = "
SELECT (relkind {eq} 'r' OR relkind {eq} 'p')
   AND NOT relhasrules AND NOT relrowsecurity
FROM pg_catalog.pg_class WHERE oid {eq} $1";

/// A query for the array type of each of the types `$1`. It is 0 if `unnest` would not return the original
/// values: it splits arrays into elements and composites into fields.
const ARRAYS: &str = "
WITH RECURSIVE base (top, oid) AS (
    SELECT t, t FROM pg_catalog.unnest($1) AS u (t)
    UNION
    SELECT b.top, t.typbasetype FROM base b
    JOIN pg_catalog.pg_type t ON t.oid {eq} b.oid
    WHERE t.typtype {eq} 'd'
)
SELECT b.top, CASE WHEN t.typtype {ne} 'c' AND t.typtype {ne} 'p'
                    AND NOT (t.typelem {ne} 0::pg_catalog.oid
                             AND t.typlen {eq} (-1)::pg_catalog.int2)
                   THEN top.typarray ELSE 0 END::pg_catalog.oid
FROM base b
JOIN pg_catalog.pg_type t ON t.oid {eq} b.oid
JOIN pg_catalog.pg_type top ON top.oid {eq} b.top
WHERE t.typtype {ne} 'd'";

/// The statements that insert rows into one table, if they do the same as COPY.
pub(crate) struct Inserts {
    /// The statement for rows that are new.
    pub(crate) plain: Option<Statement>,
    /// The statement for rows that may exist already.
    pub(crate) changing: Option<Statement>,
}

impl Inserts {
    /// Returns no statements.
    pub(crate) fn none() -> Self {
        Self { plain: None, changing: None }
    }

    /// Prepares the statements for `columns` of these types, whose values are written in binary. `changing`
    /// describes the application of rows that may exist already, if they may.
    pub(crate) async fn prepare(
        client: &Client,
        relation: &Relation,
        oid: Oid,
        columns: &[String],
        types: &[Oid],
        changing: Option<Apply<'_>>,
    ) -> Result<Self, Error> {
        let is_plain = client.query_typed_opt(&fill(IS_PLAIN, &[]), &[(&oid, Type::OID)]).await?;
        if columns.is_empty() || !is_plain.is_some_and(|row| row.get(0)) {
            return Ok(Self::none());
        }
        let rows = client.query_typed(&fill(ARRAYS, &[]), &[(&types, Type::OID_ARRAY)]).await?;
        let array_of = |ty: &Oid| {
            let row = rows.iter().find(|row| row.get::<_, Oid>(0) == *ty)?;
            Some(row.get::<_, Oid>(1)).filter(|oid| *oid != 0)
        };
        let arrays: Option<Vec<Type>> = types.iter().map(|ty| array_of(ty).map(type_of)).collect();
        let Some(arrays) = arrays else { return Ok(Self::none()) };
        let unnest: Vec<String> =
            (1..=columns.len()).map(|number| format!("pg_catalog.unnest(${number})")).collect();
        let rows = format!("ROWS FROM ({}) AS r ({})", unnest.join(", "), list(columns));
        // COPY also writes columns that are always generated as identities.
        let head = format!("INSERT INTO {relation} ({}) OVERRIDING SYSTEM VALUE", list(columns));
        let plain = client.prepare_typed(&format!("{head} SELECT * FROM {rows}"), &arrays).await?;
        let changing = match changing {
            Some(apply) => Some(client.prepare_typed(&apply.insert(&rows), &arrays).await?),
            None => None,
        };
        Ok(Self { plain: Some(plain), changing })
    }
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| quote_identifier(column)).collect::<Vec<_>>().join(", ")
}

/// Creates a type from its oid alone, because its values are already bytes.
fn type_of(oid: Oid) -> Type {
    Type::new(String::new(), oid, Kind::Simple, String::new())
}
