//! Domains in the catalogue's queries: each is read as the type below it. What else it demands, the
//! server checks in the leaf as it would in the root.

/// `$query` with the table `base` (domain, type, modifier): for each domain the type below it.
macro_rules! with_base_types {
    ($query:literal) => {
        concat!(
            "
WITH RECURSIVE step (domain, type, modifier) AS (
    SELECT oid, typbasetype, typtypmod FROM pg_catalog.pg_type WHERE typtype = 'd'
    UNION ALL
    SELECT step.domain, t.typbasetype, t.typtypmod
    FROM step
    JOIN pg_catalog.pg_type t ON t.oid = step.type AND t.typtype = 'd'
), base AS (
    SELECT step.* FROM step JOIN pg_catalog.pg_type t ON t.oid = step.type AND t.typtype <> 'd'
)",
            $query
        )
    };
}
pub(super) use with_base_types;
