//! Rows by INSERT, where these are too few for a COPY: one row a statement, or all of them as an array for each
//! column. Both store what COPY BINARY of the same bytes does.

use pgsluice_core::catalog::{Relation, quoted};
use tokio_postgres::types::{Kind, Oid, Type};
use tokio_postgres::{Client, Error, Statement};

/// Whether an INSERT into the table `$1` does what COPY does: no rule rewrites it, and row security, which COPY
/// refuses, is off.
const IS_PLAIN: &str = "
SELECT (relkind OPERATOR(pg_catalog.=) 'r' OR relkind OPERATOR(pg_catalog.=) 'p')
   AND NOT relhasrules AND NOT relrowsecurity
FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) $1";

/// Of each of the types `$1` that of its arrays, or 0 if `unnest` would not give its values back: of arrays it gives
/// the elements, of composites the fields.
const ARRAYS: &str = "
WITH RECURSIVE base (top, oid) AS (
    SELECT t, t FROM pg_catalog.unnest($1) AS u (t)
    UNION
    SELECT b.top, t.typbasetype FROM base b
    JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.oid
    WHERE t.typtype OPERATOR(pg_catalog.=) 'd'
)
SELECT b.top, CASE WHEN t.typtype OPERATOR(pg_catalog.<>) 'c' AND t.typtype OPERATOR(pg_catalog.<>) 'p'
                    AND NOT (t.typelem OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
                             AND t.typlen OPERATOR(pg_catalog.=) (-1)::pg_catalog.int2)
                   THEN top.typarray ELSE 0 END::pg_catalog.oid
FROM base b
JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) b.oid
JOIN pg_catalog.pg_type top ON top.oid OPERATOR(pg_catalog.=) b.top
WHERE t.typtype OPERATOR(pg_catalog.<>) 'd'";

/// The statements that insert rows into one table, as far as they do what COPY does.
pub(crate) struct Inserts {
    /// One row: a parameter a column.
    pub(crate) one: Option<Statement>,
    /// All rows: a parameter a column, an array of its values.
    pub(crate) all: Option<Statement>,
}

impl Inserts {
    /// Plans the statements once, for `columns` of these types; none unless their values are written in binary.
    pub(crate) async fn prepare(
        client: &Client,
        (relation, oid): (&Relation, Oid),
        columns: &[String],
        types: &[Oid],
        is_binary: bool,
    ) -> Result<Self, Error> {
        let nothing = Self { one: None, all: None };
        if !is_binary {
            return Ok(nothing);
        }
        let is_plain = client.query_typed_opt(IS_PLAIN, &[(&oid, Type::OID)]).await?;
        if columns.is_empty() || !is_plain.is_some_and(|row| row.get(0)) {
            return Ok(nothing);
        }
        let head = head(relation, columns);
        let parameters = (1..=columns.len()).map(|number| format!("${number}"));
        let values: Vec<String> = parameters.clone().collect();
        let one = format!("{head} VALUES ({})", values.join(", "));
        let given: Vec<Type> = types.iter().map(|oid| typed(*oid)).collect();
        let one = client.prepare_typed(&one, &given).await?;
        let rows = client.query_typed(ARRAYS, &[(&types, Type::OID_ARRAY)]).await?;
        let array_of = |ty: &Oid| {
            let row = rows.iter().find(|row| row.get::<_, Oid>(0) == *ty)?;
            Some(row.get::<_, Oid>(1)).filter(|oid| *oid != 0)
        };
        let arrays: Option<Vec<Type>> = types.iter().map(|ty| array_of(ty).map(typed)).collect();
        let all = match arrays {
            Some(arrays) => {
                let unnest: Vec<String> =
                    parameters.map(|parameter| format!("pg_catalog.unnest({parameter})")).collect();
                let all = format!("{head} SELECT * FROM ROWS FROM ({}) AS r", unnest.join(", "));
                Some(client.prepare_typed(&all, &arrays).await?)
            }
            None => None,
        };
        Ok(Self { one: Some(one), all })
    }
}

/// COPY writes columns that are always generated as identities, too.
fn head(relation: &Relation, columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    format!("INSERT INTO {relation} ({}) OVERRIDING SYSTEM VALUE", columns.join(", "))
}

/// A type by its number alone: its values are bytes here.
fn typed(oid: Oid) -> Type {
    Type::new(String::new(), oid, Kind::Simple, String::new())
}
