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

/// The input's columns in order, and whether it leaves out any that could be written.
pub(super) async fn of_input(
    transaction: &Transaction<'_>,
    root: Oid,
    asked: Option<&[String]>,
) -> Result<(Vec<String>, bool)> {
    let rows = transaction.query_typed(COLUMNS, &[(&root, Type::OID)]).await?;
    let writable: Vec<String> =
        rows.iter().filter(|row| !row.get::<_, bool>(1)).map(|row| row.get(0)).collect();
    let Some(asked) = asked else { return Ok((writable, false)) };
    let exists = |name: &String| rows.iter().any(|row| row.get::<_, &str>(0) == name);
    if let Some(unknown) = asked.iter().find(|name| !exists(name)) {
        let known: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        return Err(Error::new(Kind::Server, format!("column \"{unknown}\" does not exist"))
            .with_sqlstate("42703")
            .with_hint(format!("The columns are: {}.", known.join(", "))));
    }
    check(asked, &writable)?;
    let omits = writable.iter().any(|name| !asked.contains(name));
    Ok((asked.to_vec(), omits))
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
