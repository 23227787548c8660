//! The schema of a ledger, and whether its tables exist.

use pgsluice_core::catalog::quote_identifier;
use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::pg::sql::literal;
use crate::pg::template::fill;

/// The beginning of the comment on the table `load`, followed by the number of the format.
pub(super) const MARK: &str = "pgsluice ledger, format ";

/// The number of the format.
pub(super) const FORMAT: &str = "5";

/// Query for the schema, the table and its comment. It does not use `obj_description`, whose body resolves
/// operators by the user's search_path in PostgreSQL 13.
const EXISTING: &str = "
SELECT pg_catalog.to_regnamespace({name}) IS NOT NULL,
       pg_catalog.to_regclass({table}) IS NOT NULL,
       (SELECT description FROM pg_catalog.pg_description
        WHERE objoid {eq} pg_catalog.to_regclass({table})::pg_catalog.oid
          AND classoid {eq} 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
          AND objsubid {eq} 0)";

/// The schema of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schema(String);

/// The parts of a ledger that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Nothing,
    Schema,
    Whole,
}

impl Schema {
    /// Creates a schema from its unquoted name.
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns its name, unquoted.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// Fills the template of a statement about all loads; see [`fill`].
    pub(crate) fn sql(&self, statement: &str) -> String {
        fill(statement, &[("ledger", &self.quoted())])
    }

    /// Returns its name, quoted.
    pub(crate) fn quoted(&self) -> String {
        quote_identifier(&self.0)
    }

    /// Returns which parts of the ledger exist. Fails if its format is unknown.
    pub(crate) async fn look(&self, client: &Client) -> Result<Presence> {
        let schema = quote_identifier(&self.0);
        let table = literal(format!("{schema}.load").as_bytes());
        let existing = fill(EXISTING, &[("name", &literal(schema.as_bytes())), ("table", &table)]);
        let row = match client.query_typed_one(&existing, &[]).await {
            Ok(row) => row,
            Err(error) => return Err(self.refused(client, error).await),
        };
        let comment: Option<&str> = row.get(2);
        let format = comment.and_then(|comment| comment.strip_prefix(MARK));
        let number = format.map(|format| format.split('.').next().unwrap_or_default());
        match (row.get(0), row.get(1), number) {
            (_, true, Some(FORMAT)) => Ok(Presence::Whole),
            (_, true, _) => Err(self.unknown_format(comment.unwrap_or_default())),
            (true, false, _) => Ok(Presence::Schema),
            (false, false, _) => Ok(Presence::Nothing),
        }
    }

    /// Converts an error, and adds a hint if a privilege is missing.
    pub(crate) async fn refused(&self, client: &Client, error: tokio_postgres::Error) -> Error {
        let error = Error::from(error);
        if error.sqlstate() != Some("42501") {
            return error;
        }
        let who = format!(
            "SELECT pg_catalog.quote_ident(pg_catalog.current_database()),
                    pg_catalog.quote_ident(CURRENT_USER),
                    pg_catalog.to_regnamespace({}) IS NOT NULL",
            literal(quote_identifier(&self.0).as_bytes())
        );
        let Ok(()) = client.batch_execute("ROLLBACK").await else { return error };
        let Ok(row) = client.query_one(&who, &[]).await else { return error };
        let (database, user): (&str, &str) = (row.get(0), row.get(1));
        let schema = pgsluice_core::catalog::label(&self.0);
        let grant = match row.get(2) {
            true => format!(
                "GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL \
                 TABLES IN SCHEMA {schema} TO {user};"
            ),
            false => format!("GRANT CREATE ON DATABASE {database} TO {user};"),
        };
        error.with_kind(Kind::Server).only_hint(
            Words::from(format!("The load keeps a ledger in schema {schema}. Allow it: {grant} or use another ledger: "))
                + option("ledger").with("SCHEMA")
                + "; or none: "
                + option("no-ledger")
                + ".",
        )
    }

    fn unknown_format(&self, comment: &str) -> Error {
        let message =
            format!("the ledger in schema {} belongs to another version of pgsluice", self.0);
        Error::new(Kind::Server, message)
            .with_sqlstate("55000")
            .with_detail(format!(
                "The comment of its table load is \"{comment}\", not \"{MARK}{FORMAT}\"."
            ))
            .with_hint(
                "Use another ledger with "
                    + option("ledger").with("SCHEMA")
                    + ", or none with "
                    + option("no-ledger")
                    + ".",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_quoted_wherever_it_is_named() {
        let schema = Schema::new("a\"b");
        assert_eq!(schema.sql("SELECT FROM {ledger}.load"), "SELECT FROM \"a\"\"b\".load");
    }
}
