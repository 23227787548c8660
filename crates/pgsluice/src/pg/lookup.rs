//! The questions of a small load about its table. There are few, because a new session plans each question
//! first.

use pgsluice_core::catalog::Relation;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use super::sql::literal;
use crate::pg::template::fill;

/// Query for the table that `{name}` stands for, and its columns. A number is not a name.
const TABLE: &str = "
SELECT (SELECT nspname FROM pg_catalog.pg_namespace n WHERE n.oid {eq} c.relnamespace),
       c.relname, c.relkind, pg_catalog.current_setting('server_version_num')
FROM pg_catalog.pg_class c WHERE c.oid {eq} pg_catalog.to_regclass({name});
SELECT attnum, attname, attisdropped, attgenerated,
       pg_catalog.concat_ws(' ', pg_catalog.quote_ident(attname), pg_catalog.format_type(atttypid, atttypmod))
FROM pg_catalog.pg_attribute
WHERE attrelid {eq} pg_catalog.to_regclass({name}) AND attnum {gt} 0";

/// Query for the kinds of its partitions, up to one more than the limit for few leaves.
const LEAVES: &str = "
SELECT l.relkind FROM pg_catalog.pg_inherits i
JOIN pg_catalog.pg_class l ON l.oid {eq} i.inhrelid
WHERE i.inhparent {eq} pg_catalog.to_regclass({name}) LIMIT 129";

/// A table that rows can be copied into.
pub(crate) struct FoundTable {
    pub(crate) relation: Relation,
    /// The server's version.
    pub(crate) version: u32,
    /// The writable columns.
    pub(crate) columns: Vec<String>,
    /// All columns.
    pub(crate) known: Vec<String>,
    /// The writable columns, each with its type.
    types: Vec<String>,
    /// Whether it has at most 128 leaves, and no partition has partitions itself; false if not known.
    pub(crate) is_small_tree: bool,
}

impl FoundTable {
    /// Returns the columns `names`, or all, with their types.
    pub(crate) fn columns_with_types(&self, names: Option<&[String]>) -> String {
        let all = || self.columns.iter().zip(&self.types);
        let types: Vec<&str> = match names {
            Some(names) => names
                .iter()
                .filter_map(|name| all().find(|(column, _)| *column == name))
                .map(|(_, spelled)| spelled.as_str())
                .collect(),
            None => self.types.iter().map(String::as_str).collect(),
        };
        types.join(", ")
    }
}

/// Finds the table `name`, if rows can be copied into it. With `counts`, also counts its leaves.
pub(crate) async fn find(
    name: &str,
    counts: bool,
    client: &Client,
) -> Result<Option<FoundTable>, Error> {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let questions = if counts { [TABLE, LEAVES].join(";") } else { TABLE.to_owned() };
    let questions = fill(&questions, &[("name", &literal(name.as_bytes()))]);
    let answers = client.simple_query(&questions).await?;
    Ok(found(&answers, counts))
}

fn found(answers: &[SimpleQueryMessage], counts: bool) -> Option<FoundTable> {
    let (mut table, mut columns, mut leaves) = (None, Vec::new(), Vec::new());
    let mut known: Vec<String> = Vec::new();
    for answer in answers {
        let SimpleQueryMessage::Row(row) = answer else { continue };
        match [0, 1, 2, 3].map(|at| row.try_get(at).ok().flatten()) {
            [Some(schema), Some(name), Some("r" | "p"), Some(version)] if table.is_none() => {
                let relation = Relation { schema: schema.to_owned(), name: name.to_owned() };
                table = Some((relation, version.parse().ok()?));
            }
            [Some(_), Some(name), Some("f"), Some(generated)] if !generated.is_empty() => {
                known.push(name.to_owned());
            }
            [Some(number), Some(name), Some("f"), Some("")] => {
                let spelled = row.try_get(4).ok().flatten()?;
                columns.push((number.parse::<u32>().ok()?, name.to_owned(), spelled.to_owned()));
            }
            [Some(kind), None, ..] => leaves.push(kind),
            _ => {}
        }
    }
    let (relation, version) = table?;
    columns.sort();
    let (columns, types): (Vec<_>, Vec<_>) =
        columns.into_iter().map(|(_, name, spelled)| (name, spelled)).unzip();
    known.extend(columns.iter().cloned());
    let is_small_tree = counts && leaves.len() <= 128 && !leaves.contains(&"p");
    Some(FoundTable { relation, version, columns, known, types, is_small_tree })
}
