//! Finds a table by name, or tables with similar names.

use pgsluice_core::catalog::{Relation, label};
use strsim::damerau_levenshtein;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::error::{Remedy, option};
use crate::pg::template::fill;
use crate::{Error, Kind, Result};

/// Query for the tables, except partitions, that rows can be loaded into by name, and whether each needs no
/// schema.
const TABLES: &str = "
SELECT n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.relkind {any} (ARRAY['r', 'p']::pg_catalog.\"char\"[])
  AND NOT c.relispartition AND n.nspname OPERATOR(pg_catalog.!~) '^pg_|^information_schema$'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY 1, 2 LIMIT 10000";

/// The maximum number of typing errors in a name.
const ERRORS: usize = 2;
/// The maximum number of names in a hint.
const NAMED: usize = 3;

/// The hint for a name that is not found.
pub(super) const NAMING: &str = "Write the table as in SQL: with its schema if that is not in search_path, \
                      in double quotes if its name is not lower case.";

/// Returns the names of the tables in this database as SQL identifiers, with their schemas unless
/// `search_path` finds them.
pub(crate) async fn names(client: &Client) -> Result<Vec<String>> {
    let rows = client.query(&fill(TABLES, &[]), &[]).await?;
    let name = |row: &Row| match row.get(2) {
        true => label(row.get(1)),
        false => Relation { schema: row.get(0), name: row.get(1) }.label(),
    };
    Ok(rows.iter().map(name).collect())
}

/// Returns the oid of `table`, a name in SQL syntax.
pub(super) async fn find(client: &Client, table: &str) -> Result<Oid> {
    // to_regclass also accepts an OID.
    let query = "SELECT CASE WHEN $1::pg_catalog.text OPERATOR(pg_catalog.!~) '^[0-9]*$'
                            THEN pg_catalog.to_regclass($1)::pg_catalog.oid END";
    let found = client.query_typed_one(query, &[(&table, Type::TEXT)]).await.map_err(|error| {
        let error = Error::from(error);
        // The text is not a name at all.
        let syntax = error.sqlstate().is_some_and(|code| code.starts_with("426"));
        if syntax { error.with_hint(NAMING) } else { error }
    })?;
    match found.get::<_, Option<Oid>>(0) {
        Some(found) => Ok(found),
        None => Err(no_such_table(client, table).await?),
    }
}

/// Returns the error for `table`, which does not exist.
async fn no_such_table(client: &Client, table: &str) -> Result<Error> {
    let error = Error::new(Kind::Server, format!("relation \"{table}\" does not exist"))
        .with_sqlstate("42P01");
    let name = table.rsplit('.').next().unwrap_or(table).trim_matches('"').to_lowercase();
    let rows = client.query(&fill(TABLES, &[]), &[]).await?;
    let tables = rows.iter().map(|row| Relation { schema: row.get(0), name: row.get(1) });
    let distance = |relation: &Relation| damerau_levenshtein(&relation.name.to_lowercase(), &name);
    let mut near: Vec<(usize, Relation)> = tables
        .map(|relation| (distance(&relation), relation))
        .filter(|(errors, _)| *errors <= ERRORS && *errors < name.chars().count())
        .collect();
    near.sort_by_key(|(errors, _)| *errors);
    let min = near.first().map(|(errors, _)| *errors);
    near.retain(|(errors, _)| Some(*errors) == min);
    Ok(match &near[..] {
        [] => error.with_hint(NAMING),
        [(_, only)] => {
            let label = only.label();
            error.with_remedy(Remedy::options(
                format!("There is {label}"),
                [option("table").with(label)],
            ))
        }
        several => {
            let labels = several.iter().take(NAMED).map(|(_, relation)| relation.label());
            let labels: Vec<String> = labels.collect();
            error.with_hint(format!("There are {}.", labels.join(", ")))
        }
    })
}
