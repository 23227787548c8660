//! The table that is moved: its properties, indexes and foreign keys.

use pgsluice_core::catalog::Relation;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::sql::ddl;
use super::sql::definitions::{
    DESCRIBED, FACTS, FIND, FOREIGN_KEYS, GENERATED, IDENTITIES, INDEXES,
};
use super::sql::values;
use super::state::RelationName;
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The relkind of a plain table.
const PLAIN: &str = "r";

/// A table that is to be partitioned.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Table {
    pub(super) oid: Oid,
    #[serde(with = "RelationName")]
    pub(super) relation: Relation,
    pub(super) columns: Vec<String>,
    /// Its owner, quoted, if another role moves it.
    pub(super) owner: Option<String>,
    pub(super) bytes: u64,
    pub(super) index_bytes: u64,
    /// The estimated number of rows; negative if the table was never analyzed.
    pub(super) rows: f64,
    /// The clauses `WITH` and `TABLESPACE` for a table like it.
    pub(super) options: String,
    pub(super) tablespace: String,
    /// `REPLICA IDENTITY`, unless it is the default.
    pub(super) replica_identity: Option<String>,
}

/// An index of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct TableIndex {
    pub(super) name: String,
    /// The constraint that uses it.
    pub(super) constraint: Option<Constraint>,
    pub(super) is_unique: bool,
    /// The definition after `USING`, or the definition of the constraint.
    pub(super) definition: String,
    pub(super) tablespace: String,
    /// Columns of the partition key that a unique index must contain and does not, quoted if necessary.
    pub(super) lacks: Vec<String>,
    /// The columns in `lacks` that accept NULL.
    pub(super) nullable: Vec<String>,
}

/// The constraint of an index.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(super) enum Constraint {
    Primary,
    Unique,
}

/// An identity column, and its sequence.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct IdentityColumn {
    pub(super) column: String,
    /// The sequence, qualified and quoted.
    pub(super) sequence: String,
    pub(super) name: String,
}

/// A foreign key of the table.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct ForeignKey {
    pub(super) name: String,
    pub(super) definition: String,
    pub(super) comment: Option<String>,
    /// The table that it refers to, qualified and quoted.
    pub(super) parent: String,
}

/// A property that users see: kind, name, and text.
pub(super) type Property = (String, String, String);

/// Returns the properties of a table that users see.
pub(super) async fn describe(client: &Client, oid: Oid) -> Result<Vec<Property>> {
    let rows = client.query(DESCRIBED, &[&oid]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}

/// Returns the oid and the name of table `name`, which is resolved as its user would resolve it.
pub(super) async fn find(client: &Client, name: &str) -> Result<(Oid, Relation)> {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    let row = if is_number { None } else { client.query_opt(FIND, &[&name]).await? };
    let row = row.ok_or_else(|| {
        Error::new(Kind::Server, format!("relation \"{name}\" does not exist"))
            .with_sqlstate("42P01")
            .with_hint("Check the name, and the schema: pgsluice finds what psql finds.")
    })?;
    Ok((row.get(0), Relation { schema: row.get(1), name: row.get(2) }))
}

impl Table {
    /// Reads the properties of a table. Fails if it is not a plain table.
    pub(super) async fn read(client: &Client, oid: Oid, relation: Relation) -> Result<Self> {
        let row = client.query_one(FACTS, &[&oid]).await?;
        let label = relation.label();
        match row.get(0) {
            PLAIN => {}
            "p" => {
                let message = format!("\"{label}\" is a partitioned table already");
                return Err(Error::new(Kind::Usage, message).with_sqlstate("42809"));
            }
            _ => {
                let message = format!("\"{label}\" is not a table");
                return Err(Error::new(Kind::Usage, message).with_sqlstate("42809"));
            }
        }
        let owner = row.get::<_, bool>(2).then(|| row.get(1));
        let columns = client.query(values::COLUMNS, &[&oid]).await?;
        let bytes = |column| row.get::<_, i64>(column).unsigned_abs();
        Ok(Self {
            oid,
            relation,
            columns: columns.iter().map(|row| row.get(0)).collect(),
            owner,
            bytes: bytes(3),
            index_bytes: bytes(8),
            rows: row.get(4),
            options: row.get(5),
            tablespace: row.get(6),
            replica_identity: match row.get(7) {
                "f" => Some("FULL".to_owned()),
                "n" => Some("NOTHING".to_owned()),
                _ => None,
            },
        })
    }

    /// Returns the indexes, the primary key first. `key` are the columns of the partition keys.
    pub(super) async fn indexes(&self, client: &Client, key: &[String]) -> Result<Vec<TableIndex>> {
        let rows = client.query(INDEXES, &[&self.oid, &key]).await?;
        let index = |row: &tokio_postgres::Row| TableIndex {
            name: row.get(0),
            constraint: match row.get(1) {
                Some("p") => Some(Constraint::Primary),
                Some(_) => Some(Constraint::Unique),
                None => None,
            },
            is_unique: row.get(2),
            definition: row.get(3),
            tablespace: row.get(4),
            lacks: if row.get(2) { row.get(5) } else { Vec::new() },
            nullable: row.get(6),
        };
        Ok(rows.iter().map(index).collect())
    }

    /// Returns the foreign keys.
    pub(super) async fn foreign_keys(&self, client: &Client) -> Result<Vec<ForeignKey>> {
        let rows = client.query(FOREIGN_KEYS, &[&self.oid]).await?;
        let key = |row: &tokio_postgres::Row| ForeignKey {
            name: row.get(0),
            definition: row.get(1),
            comment: row.get(2),
            parent: row.get(3),
        };
        Ok(rows.iter().map(key).collect())
    }

    /// Returns the stored generated columns, quoted, with their expressions.
    pub(super) async fn generated_columns(&self, client: &Client) -> Result<Vec<(String, String)>> {
        let rows = client.query(GENERATED, &[&self.oid]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns the identity columns.
    pub(super) async fn identities(&self, client: &Client) -> Result<Vec<IdentityColumn>> {
        let rows = client.query(IDENTITIES, &[&self.oid]).await?;
        let identity = |row: &tokio_postgres::Row| IdentityColumn {
            column: row.get(0),
            sequence: row.get(1),
            name: row.get(2),
        };
        Ok(rows.iter().map(identity).collect())
    }
}

impl TableIndex {
    /// Adds the columns that it lacks to its key, and returns them.
    pub(super) fn widen(&mut self) -> Option<String> {
        let columns = std::mem::take(&mut self.lacks).join(", ");
        if columns.is_empty() {
            return None;
        }
        self.definition = add_columns(&self.definition, &columns);
        Some(columns)
    }

    /// Returns the statement that creates it on `table`.
    pub(super) fn create(&self, table: &Relation, name: &str) -> String {
        let statement = match self.constraint {
            Some(_) => ddl::add_constraint(table, name, &self.definition),
            None => ddl::create_index(table, name, self.is_unique, &self.definition),
        };
        ddl::in_tablespace(&self.tablespace, &statement)
    }
}

/// Adds `columns` to the first list in parentheses of a deparsed definition.
pub(super) fn add_columns(definition: &str, columns: &str) -> String {
    let (mut depth, mut quote) = (0_u32, None);
    for (at, c) in definition.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => {
                let (before, after) = definition.split_at(at);
                return format!("{before}, {columns}{after}");
            }
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    definition.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_widened() {
        assert_eq!(add_columns("PRIMARY KEY (id)", "at"), "PRIMARY KEY (id, at)");
        assert_eq!(
            add_columns("UNIQUE (a) INCLUDE (b)", "\"x y\""),
            "UNIQUE (a, \"x y\") INCLUDE (b)"
        );
        assert_eq!(
            add_columns("btree (lower(a), (b || ')'), \"c)\") WHERE (d > 0)", "at"),
            "btree (lower(a), (b || ')'), \"c)\", at) WHERE (d > 0)"
        );
    }
}
