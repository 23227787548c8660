//! Creates the tables of a ledger.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::schema::{Presence, Schema};
use super::tables::create;
use super::trust::{Access, check, local};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::sql::{BEGIN, PG_CATALOG_ONLY};

/// The number of times that the tables are looked up again if another session creates them at the same moment.
const TRIES: usize = 10;

/// Query for the statements that revoke privileges on new tables in the schema $1 that ALTER DEFAULT
/// PRIVILEGES granted.
const REVOKE: &str = "
SELECT string_agg(format('REVOKE TRIGGER ON %I.%I FROM %s', $1::text, c.relname,
                         CASE a.grantee WHEN 0 THEN 'PUBLIC'
                                        ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
CROSS JOIN LATERAL aclexplode(c.relacl) AS a
WHERE n.nspname = $1::text AND c.relkind = 'r' AND a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner";

impl Schema {
    /// Creates the tables if they are missing, and checks that the session may use them for `access`. If
    /// several sessions do this together, one of them creates the tables.
    pub(crate) async fn make(&self, client: &Client, access: Access) -> Result<()> {
        for _ in 0..TRIES {
            let statements = match self.look(client).await? {
                Presence::Whole => return check(self, client, access).await,
                Presence::Schema => create(self),
                Presence::Nothing => self.sql("CREATE SCHEMA {ledger}; ") + &create(self),
            };
            match self.create(client, &statements).await {
                Ok(()) => {}
                // Another session was faster.
                Err(error) if is_there(&error) => client.batch_execute("ROLLBACK").await?,
                Err(error) => return Err(self.refused(client, error).await),
            }
        }
        Err(Error::new(
            Kind::Server,
            format!("could not create the ledger in schema {}", self.name()),
        )
        .with_sqlstate("55000"))
    }

    /// Creates the tables, and revokes default privileges on them, which would let other roles create
    /// triggers.
    async fn create(&self, client: &Client, statements: &str) -> Result<(), tokio_postgres::Error> {
        let begin = format!("{BEGIN}; {}; {statements}", local(PG_CATALOG_ONLY));
        client.batch_execute(&begin).await?;
        let revoke: Option<String> = client.query_one(REVOKE, &[&self.name()]).await?.get(0);
        client.batch_execute(&format!("{}; COMMIT", revoke.unwrap_or_default())).await
    }

    /// Prepares existing tables for `access`. Returns whether they exist.
    pub(crate) async fn open(&self, client: &Client, access: Access) -> Result<bool> {
        match self.look(client).await? {
            Presence::Nothing | Presence::Schema => Ok(false),
            Presence::Whole => self.make(client, access).await.map(|()| true),
        }
    }
}

/// Whether another session has already created the object.
fn is_there(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::DUPLICATE_SCHEMA,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
            SqlState::UNIQUE_VIOLATION,
        ]
        .contains(code)
    })
}
