//! Finds columns that the server may be asked about only in part, because their input functions, or the
//! checks of their domains, do not always return the same result.

use std::collections::HashMap;

use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use super::session::SessionFacts;
use super::types::next_types;
use crate::error::Result;
use crate::pg::template::fill;
use crate::pg::volatility::Volatility;

/// The volatilities of a table's columns, by name.
pub(super) type Volatilities = HashMap<String, Volatility>;

/// Query for the volatilities. A type is examined together with all types that its values contain. Input
/// functions that are not immutable depend on settings, on the clock, or, like those of the `reg` types, on
/// the catalogue. Settings are terms of a load.
const VOLATILITIES: &str = concat!(
    r"
WITH RECURSIVE part (name, type) AS (
    SELECT attname, atttypid FROM pg_catalog.pg_attribute
    WHERE attrelid {eq} $1
      AND attnum {gt} 0 AND NOT attisdropped
    UNION
    SELECT part.name, next.type
    FROM part
    JOIN pg_catalog.pg_type t ON t.oid {eq} part.type
    CROSS JOIN LATERAL ",
    next_types!(),
    r"
)
SELECT part.name,
       pg_catalog.bool_or(t.typnamespace {eq} core.oid
           AND t.typname {eq}
               ANY (ARRAY['date', 'time', 'timestamp', 'timestamptz']::pg_catalog.name[])) AS words,
       pg_catalog.bool_or(t.typnamespace {eq} core.oid
           AND t.typname {eq} 'timetz') AS zoned,
       pg_catalog.bool_and(t.typtype {eq} 'd'
           OR t.typnamespace {eq} core.oid
           AND t.typname {eq} 'timetz') AS only_zoned,
       pg_catalog.bool_or(
           t.typtype {eq} 'b' AND i.provolatile {ne} 'i'
           AND NOT (i.pronamespace {eq} core.oid
                    AND i.proname {any} (ARRAY[
                        'array_in', 'date_in', 'time_in', 'timetz_in', 'timestamp_in',
                        'timestamptz_in', 'interval_in', 'cash_in', 'xml_in', 'json_in', 'jsonb_in'
                    ]::pg_catalog.name[]))
           OR t.typtype {eq} 'd' AND EXISTS (
               SELECT FROM pg_catalog.pg_constraint c
               WHERE c.contypid {eq} t.oid
                 AND (c.conbin::pg_catalog.text OPERATOR(pg_catalog.~) '\{SQLVALUEFUNCTION '
                      OR EXISTS (
                          SELECT FROM pg_catalog.regexp_matches(
                              c.conbin::pg_catalog.text, ':(?:opfuncid|funcid) (\d+)', 'g') AS f (oid)
                          JOIN pg_catalog.pg_proc p
                              ON p.oid {eq} (f.oid)[1]::pg_catalog.oid
                          WHERE p.provolatile {ne} 'i')))
       ) AS unsteady
FROM part
JOIN pg_catalog.pg_type t ON t.oid {eq} part.type
LEFT JOIN pg_catalog.pg_proc i ON i.oid {eq} t.typinput
CROSS JOIN (SELECT 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid) AS core (oid)
GROUP BY part.name"
);

/// Reads the volatilities of the columns of `table`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    session: &SessionFacts,
    table: Oid,
) -> Result<Volatilities> {
    let rows = transaction.query_typed(&fill(VOLATILITIES, &[]), &[(&table, Type::OID)]).await?;
    let is =
        |row: &tokio_postgres::Row, name: &str| row.get::<_, Option<bool>>(name).unwrap_or(false);
    let volatility = |row: &tokio_postgres::Row| {
        if is(row, "unsteady") {
            Volatility::Volatile
        } else if is(row, "zoned") {
            if is(row, "only_zoned") {
                Volatility::Zoned(session.zone)
            } else {
                Volatility::Volatile
            }
        } else if is(row, "words") {
            Volatility::ClockWords
        } else {
            Volatility::Immutable
        }
    };
    Ok(rows.iter().map(|row| (row.get("name"), volatility(row))).collect())
}
