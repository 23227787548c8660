//! Properties of the session and its database that determine how keys are read, and which are native.

use tokio_postgres::Transaction;
use tokio_postgres::types::Oid;

use crate::error::Result;
use crate::pg::expression::{Collation, fixed_zone};

/// `DEFAULT_COLLATION_OID`, `src/include/catalog/pg_collation.dat`: the database's own.
pub(super) const DATABASE_COLLATION: Oid = 100;

/// Properties of the session and the database that determine how keys are read.
pub(super) struct SessionFacts {
    pub(super) encoding: String,
    /// Offset of the session's time zone, if it is constant.
    pub(super) zone: Option<i32>,
    /// Whether `Z` means UTC; a time zone or a set of abbreviations that a user created may differ.
    pub(super) zulu: bool,
    pub(super) collation_is_c: bool,
    /// Whether an unquoted NULL in an array is NULL.
    pub(super) array_nulls: bool,
    /// The properties of the database's collation that affect `lower` and `upper`.
    pub(super) collation: Collation,
    /// Whether the time zone `UTC` really is UTC; an abbreviation could hide it.
    pub(super) utc: bool,
    /// Whether dates are written in the format that is read natively.
    pub(super) iso: bool,
}

impl SessionFacts {
    /// Queries the session, before any of its settings are changed.
    pub(super) async fn read(transaction: &Transaction<'_>) -> Result<Self> {
        let row = transaction
            .query_typed_one(
                "SELECT pg_catalog.current_setting('server_encoding'),
                        pg_catalog.current_setting('TimeZone'),
                        COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c'),
                        d.datcollate,
                        '2000-01-01 00:00:00Z'::timestamptz
                            = '2000-01-01 00:00:00+00'::timestamptz,
                        pg_catalog.current_setting('array_nulls')::pg_catalog.bool,
                        '2000-01-01 00:00:00+00'::timestamptz AT TIME ZONE 'UTC'
                            = '2000-01-01 00:00:00'::timestamp,
                        d.datctype,
                        pg_catalog.current_setting('DateStyle') LIKE 'ISO%'
                 FROM pg_catalog.pg_database d
                 WHERE d.datname = pg_catalog.current_database()",
                &[],
            )
            .await?;
        Ok(Self {
            encoding: row.get(0),
            zone: fixed_zone(row.get(1)),
            zulu: row.get(4),
            collation_is_c: is_c(row.get(2), row.get(3)),
            array_nulls: row.get(5),
            collation: Collation { oid: DATABASE_COLLATION, ascii: is_c(row.get(2), row.get(7)) },
            utc: row.get(6),
            iso: row.get(8),
        })
    }
}

/// Whether a collation sorts by bytes. This is true for `C` and `POSIX` of libc, and for all collations of
/// the built-in provider (PostgreSQL 17), which sort by code points. In all of them, ASCII letters have the
/// same upper and lower case.
pub(super) fn is_c(provider: &str, locale: &str) -> bool {
    provider == "b" || (provider == "c" && matches!(locale, "C" | "POSIX"))
}
