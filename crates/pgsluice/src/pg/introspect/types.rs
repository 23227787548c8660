//! The structure of types, for the queries of the catalogue.

/// Expands to `$query` with the table `base` (domain, type, modifier), which has the base type of each
/// domain. The server checks the constraints of a domain in the leaf like in the root.
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

/// Expands to the table `next (type)` of the types directly below `t`, a row of pg_type: its base type,
/// elements, subtype or fields. Columns that some version lacks are read from JSON.
macro_rules! next_types {
    () => {
        "(
        SELECT t.typbasetype WHERE t.typtype {eq} 'd'
        UNION ALL
        SELECT t.typelem WHERE t.typelem {ne} 0
        UNION ALL
        SELECT r.rngsubtype FROM pg_catalog.pg_range r
        WHERE r.rngtypid {eq} t.oid
           OR t.typtype {eq} 'm'
              AND pg_catalog.jsonb_extract_path_text(pg_catalog.to_jsonb(r), 'rngmultitypid')
                  {eq} t.oid::pg_catalog.text
        UNION ALL
        SELECT a.atttypid FROM pg_catalog.pg_attribute a
        WHERE t.typtype {eq} 'c'
          AND a.attrelid {eq} t.typrelid
          AND a.attnum {gt} 0 AND NOT a.attisdropped
    ) AS next (type)"
    };
}
pub(super) use next_types;
