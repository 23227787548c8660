//! The ledger's tables: what they are, whether they are there, and who may make them.

use tokio_postgres::Client;

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::pg::sql::{BEGIN, literal};

/// The lock of whoever makes the tables.
const MAKING: i64 = i64::from_be_bytes(*b"pgsluice");

/// What the comment on the table `load` says: the version of all tables.
const FORMAT: &str = "pgsluice ledger, format 1";

const SCHEMA: &str = "CREATE SCHEMA pgsluice";

/// `relation` and `name` are the table that is loaded; `terms` is what decides how the input is read
/// and routed. A receipt says of one node of one `tree` of the load: all rows of sources before
/// `source`, and of this one those that begin before `upto`, are in; and so are those that begin in
/// `starts[n]` to `stops[n]` of `sources[n]`, the latter excluded. A block is what was read of a stream.
/// When the server crashes, it empties the witness with all other unlogged tables.
const TABLES: &str = "
CREATE TABLE pgsluice.load (
    id text PRIMARY KEY,
    relation oid NOT NULL,
    name text NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'finished')),
    attempt integer NOT NULL,
    terms jsonb NOT NULL,
    sources jsonb NOT NULL,
    begun timestamptz NOT NULL DEFAULT pg_catalog.now(),
    ended timestamptz,
    rows_read bigint,
    rows_loaded bigint,
    rows_rejected bigint,
    rows_skipped bigint
);
CREATE TABLE pgsluice.tree (
    load text NOT NULL,
    number integer NOT NULL,
    layout json NOT NULL,
    PRIMARY KEY (load, number)
);
CREATE TABLE pgsluice.receipt (
    load text NOT NULL,
    number bigint NOT NULL,
    tree integer NOT NULL,
    node integer NOT NULL,
    source integer NOT NULL,
    upto bigint NOT NULL,
    sources integer[] NOT NULL,
    starts bigint[] NOT NULL,
    stops bigint[] NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (load, number)
);
CREATE TABLE pgsluice.block (
    load text NOT NULL,
    source integer NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    hash bigint NOT NULL
);
CREATE INDEX ON pgsluice.block (load);
CREATE TABLE pgsluice.reject (
    load text NOT NULL,
    source integer NOT NULL,
    start bigint NOT NULL,
    PRIMARY KEY (load, source, start)
);
CREATE UNLOGGED TABLE pgsluice.witness (load text NOT NULL)";

/// Not by `obj_description`, the body of which looks for operators in the user's search_path (13).
const EXISTING: &str = "
SELECT pg_catalog.to_regnamespace('pgsluice') IS NOT NULL AS schema,
       pg_catalog.to_regclass('pgsluice.load') IS NOT NULL AS tables,
       (SELECT description FROM pg_catalog.pg_description
        WHERE objoid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('pgsluice.load')::pg_catalog.oid
          AND classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
          AND objsubid OPERATOR(pg_catalog.=) 0)";

/// What there is of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Nothing,
    Schema,
    Whole,
}

/// What there is of the ledger; an error if it is another version's.
pub(crate) async fn look(client: &Client) -> Result<Presence> {
    let row = match client.query_one(EXISTING, &[]).await {
        Ok(row) => row,
        Err(error) => return Err(refused(client, error).await),
    };
    match (row.get(0), row.get(1), row.get::<_, Option<&str>>(2)) {
        (_, true, Some(FORMAT)) => Ok(Presence::Whole),
        (_, true, other) => Err(Error::new(
            Kind::Server,
            "the ledger in schema pgsluice is not of this version of pgsluice",
        )
        .sqlstate("55000")
        .detail(format!("It says \"{}\", not \"{FORMAT}\".", other.unwrap_or_default()))
        .hint("Rename the schema to keep it, or drop it; or load with --no-ledger.")),
        (true, false, _) => Ok(Presence::Schema),
        (false, false, _) => Ok(Presence::Nothing),
    }
}

/// Makes the tables that are not there. Of several that begin at once one makes them.
pub(crate) async fn make(client: &Client) -> Result<()> {
    if look(client).await? == Presence::Whole {
        return Ok(());
    }
    // The tables' own checks find their operators by name.
    // Without the lock on a table the session would go by what it knew of the schema before.
    let lock = format!(
        "{BEGIN}; SET LOCAL search_path = pg_catalog, pg_temp; \
         SELECT pg_catalog.pg_advisory_xact_lock({MAKING}); \
         LOCK TABLE pg_catalog.pg_namespace IN ACCESS SHARE MODE"
    );
    client.batch_execute(&lock).await?;
    let comment = format!("COMMENT ON TABLE pgsluice.load IS {}", literal(FORMAT.as_bytes()));
    let statements = match look(client).await? {
        Presence::Whole => Vec::new(),
        Presence::Schema => vec![TABLES, &comment],
        Presence::Nothing => vec![SCHEMA, TABLES, &comment],
    };
    match client.batch_execute(&statements.join(";\n")).await {
        Ok(()) => Ok(client.batch_execute("COMMIT").await?),
        Err(error) => Err(refused(client, error).await),
    }
}

/// The error for `error`, with the way out where it is a lack of privileges.
pub(crate) async fn refused(client: &Client, error: tokio_postgres::Error) -> Error {
    let error = Error::from(error);
    if error.code() != Some("42501") {
        return error;
    }
    let who = "SELECT pg_catalog.quote_ident(pg_catalog.current_database()),
                      pg_catalog.quote_ident(CURRENT_USER),
                      pg_catalog.to_regnamespace('pgsluice') IS NOT NULL";
    let Ok(()) = client.batch_execute("ROLLBACK").await else { return error };
    let Ok(row) = client.query_one(who, &[]).await else { return error };
    let (database, user): (&str, &str) = (row.get(0), row.get(1));
    let grant = match row.get(2) {
        true => format!(
            "GRANT ALL ON SCHEMA pgsluice TO {user}; \
             GRANT ALL ON ALL TABLES IN SCHEMA pgsluice TO {user};"
        ),
        false => format!("GRANT CREATE ON DATABASE {database} TO {user};"),
    };
    error.of_kind(Kind::Server).only_hint(format!(
        "The load keeps a ledger in schema pgsluice. Let it: {grant} or give the ledger up: \
         --no-ledger."
    ))
}
