//! The columns of the input.

use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use crate::error::kind::Kind;
use crate::error::{Error, Result};

const COLUMNS: &str = "
SELECT attname, attgenerated::pg_catalog.text <> '' AS generated
FROM pg_catalog.pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
ORDER BY attnum";

/// The columns of the input.
pub(super) struct OfInput {
    /// In their order.
    pub(super) columns: Vec<String>,
    /// The place of the one that the table lacks.
    pub(super) besides: Option<usize>,
    /// Whether it leaves out any that could be written.
    pub(super) omits: bool,
}

/// Finds the input's columns. The table may lack the one that `besides` names.
pub(super) async fn of_input(
    transaction: &Transaction<'_>,
    root: Oid,
    asked: Option<&[String]>,
    besides: Option<&str>,
) -> Result<OfInput> {
    let rows = transaction.query_typed(COLUMNS, &[(&root, Type::OID)]).await?;
    let writable: Vec<String> =
        rows.iter().filter(|row| !row.get::<_, bool>(1)).map(|row| row.get(0)).collect();
    let Some(asked) = asked else {
        return Ok(OfInput { columns: writable, besides: None, omits: false });
    };
    let exists = |name: &String| rows.iter().any(|row| row.get::<_, &str>(0) == name);
    let besides = asked.iter().position(|name| besides == Some(name) && !exists(name));
    let named = asked.iter().enumerate().filter(|(place, _)| besides != Some(*place));
    let named: Vec<String> = named.map(|(_, name)| name.clone()).collect();
    if let Some(unknown) = named.iter().find(|name| !exists(name)) {
        let known: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        return Err(Error::new(Kind::Server, format!("column \"{unknown}\" does not exist"))
            .with_sqlstate("42703")
            .with_hint(format!("The columns are: {}.", known.join(", "))));
    }
    check(&named, &writable)?;
    let omits = writable.iter().any(|name| !asked.contains(name));
    Ok(OfInput { columns: asked.to_vec(), besides, omits })
}

/// Refuses, as COPY would, a column that is named twice or is generated.
fn check(asked: &[String], writable: &[String]) -> Result<()> {
    for (index, name) in asked.iter().enumerate() {
        if asked[..index].contains(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(Kind::Server, message).with_sqlstate("42701"));
        }
        if !writable.contains(name) {
            let message = format!("column \"{name}\" is a generated column");
            return Err(Error::new(Kind::Server, message)
                .with_sqlstate("42P10")
                .with_detail("Generated columns cannot be used in COPY."));
        }
    }
    Ok(())
}
