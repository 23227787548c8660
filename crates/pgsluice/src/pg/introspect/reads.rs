//! Describes how each key is read, as the server spells it, down to the labels of enums, the clauses of
//! domains and the bodies of functions. The ledger records it, so that a load that is resumed after any
//! change does not look for its rows in the wrong place.

use std::collections::HashMap;

use futures_util::future::try_join3;
use tokio_postgres::Client;
use tokio_postgres::types::{Oid, ToSql, Type};

use super::Catalogue;
use super::types::next_types;
use crate::error::Result;
use crate::pg::sql;
use crate::pg::template::fill;

/// Query for lines about each key column of the tables $1, for an input with the columns $2. Tables with the
/// same lines share a row. System types and functions are not described.
const READS: &str = concat!(
    r"
WITH RECURSIVE core AS (
    SELECT 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid AS oid
), keyed AS MATERIALIZED (
    SELECT p.partrelid, k.place, k.attnum, k.opclass, k.coll, p.partexprs
    FROM pg_catalog.pg_partitioned_table p
    CROSS JOIN LATERAL ROWS FROM (
        pg_catalog.unnest(p.partattrs::pg_catalog.int2[]),
        pg_catalog.unnest(p.partclass::pg_catalog.oid[]),
        pg_catalog.unnest(p.partcollation::pg_catalog.oid[])
    ) WITH ORDINALITY AS k (attnum, opclass, coll, place)
    WHERE p.partrelid {any} (ARRAY(SELECT pg_catalog.unnest($1)))
), used AS MATERIALIZED (
    SELECT k.partrelid, k.place, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attcollation,
           a.attidentity, a.attgenerated
    FROM keyed k
    JOIN pg_catalog.pg_attribute a ON a.attrelid {eq} k.partrelid
        AND a.attnum {gt} 0
        AND (a.attnum {eq} k.attnum
             OR k.attnum {eq} 0
             AND a.attnum {any} (ARRAY(
                 SELECT m.at[1]::pg_catalog.int2 FROM pg_catalog.regexp_matches(
                     k.partexprs::pg_catalog.text, ':varattno (\d+)', 'g') AS m (at))))
), part (top, type) AS (
    SELECT DISTINCT atttypid, atttypid FROM used
    UNION
    SELECT part.top, next.type
    FROM part
    JOIN pg_catalog.pg_type t ON t.oid {eq} part.type
    CROSS JOIN LATERAL ",
    next_types!(),
    r"
), own AS MATERIALIZED (
    SELECT part.top, t.*
    FROM part
    JOIN pg_catalog.pg_type t ON t.oid {eq} part.type
    CROSS JOIN core
    WHERE t.typnamespace {ne} core.oid AND t.typelem {eq} 0
), type_line (top, line) AS (
    SELECT own.top, pg_catalog.concat_ws(' ', CASE own.typtype
        WHEN 'd' THEN pg_catalog.concat_ws(' ', 'domain', pg_catalog.format_type(own.oid, NULL),
            'over', pg_catalog.format_type(own.typbasetype, own.typtypmod),
            CASE WHEN own.typnotnull THEN 'NOT NULL' END,
            (SELECT pg_catalog.string_agg(c.def, ' ' ORDER BY c.def)
             FROM (SELECT pg_catalog.regexp_replace(
                       pg_catalog.pg_get_constraintdef(oid), ' NOT VALID$', '') FROM pg_catalog.pg_constraint
                   WHERE contypid {eq} own.oid
                     AND contype {eq} 'c') AS c (def)))
        WHEN 'e' THEN pg_catalog.concat_ws(' ', 'enum', pg_catalog.format_type(own.oid, NULL),
            (SELECT pg_catalog.string_agg(pg_catalog.quote_literal(enumlabel), ', '
                                          ORDER BY enumsortorder)
             FROM pg_catalog.pg_enum WHERE enumtypid {eq} own.oid))
        WHEN 'c' THEN pg_catalog.concat_ws(' ', 'composite type',
            pg_catalog.format_type(own.oid, NULL),
            (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', pg_catalog.quote_ident(attname),
                        pg_catalog.format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
             FROM pg_catalog.pg_attribute
             WHERE attrelid {eq} own.typrelid
               AND attnum {gt} 0 AND NOT attisdropped))
        WHEN 'r' THEN pg_catalog.concat_ws(' ', 'range type', pg_catalog.format_type(own.oid, NULL),
            (SELECT pg_catalog.concat_ws(' ', pg_catalog.format_type(rngsubtype, NULL),
                        rngsubopc::pg_catalog.text, rngcollation::pg_catalog.regcollation,
                        rngcanonical)
             FROM pg_catalog.pg_range WHERE rngtypid {eq} own.oid))
        ELSE pg_catalog.concat_ws(' ', 'type', pg_catalog.format_type(own.oid, NULL)) END)
    FROM own
), called (kind, owner, oid) AS (
    SELECT 'key', k.partrelid, d.refobjid
    FROM (SELECT DISTINCT partrelid FROM keyed) AS k
    JOIN pg_catalog.pg_depend d ON d.objid {eq} k.partrelid
        AND d.classid {eq} 'pg_catalog.pg_class'::pg_catalog.regclass
        AND d.refclassid {eq} 'pg_catalog.pg_proc'::pg_catalog.regclass
    UNION
    SELECT 'key', k.partrelid, o.oprcode::pg_catalog.oid
    FROM (SELECT DISTINCT partrelid FROM keyed) AS k
    JOIN pg_catalog.pg_depend d ON d.objid {eq} k.partrelid
        AND d.classid {eq} 'pg_catalog.pg_class'::pg_catalog.regclass
        AND d.refclassid {eq} 'pg_catalog.pg_operator'::pg_catalog.regclass
    JOIN pg_catalog.pg_operator o ON o.oid {eq} d.refobjid
    UNION
    SELECT 'key', k.partrelid, f.amproc::pg_catalog.oid
    FROM keyed k
    JOIN pg_catalog.pg_opclass o ON o.oid {eq} k.opclass
    JOIN pg_catalog.pg_amproc f ON f.amprocfamily {eq} o.opcfamily
        AND f.amproclefttype {eq} o.opcintype
    CROSS JOIN core
    WHERE o.opcnamespace {ne} core.oid
    UNION
    SELECT 'type', own.top, own.typinput::pg_catalog.oid FROM own
    UNION
    SELECT 'type', own.top, CASE d.refclassid
               WHEN 'pg_catalog.pg_proc'::pg_catalog.regclass THEN d.refobjid
               ELSE (SELECT oprcode::pg_catalog.oid FROM pg_catalog.pg_operator
                     WHERE oid {eq} d.refobjid) END
    FROM own
    JOIN pg_catalog.pg_constraint c ON c.contypid {eq} own.oid
    JOIN pg_catalog.pg_depend d ON d.objid {eq} c.oid
        AND d.classid {eq} 'pg_catalog.pg_constraint'::pg_catalog.regclass
        AND d.refclassid {any} (ARRAY['pg_catalog.pg_proc'::pg_catalog.regclass,
            'pg_catalog.pg_operator'::pg_catalog.regclass]::pg_catalog.oid[])
), all_called (kind, owner, oid) AS (
    SELECT * FROM called
    UNION
    SELECT r.kind, r.owner, d.refobjid
    FROM all_called r
    JOIN pg_catalog.pg_depend d ON d.objid {eq} r.oid
        AND d.classid {eq} 'pg_catalog.pg_proc'::pg_catalog.regclass
        AND d.refclassid {eq} 'pg_catalog.pg_proc'::pg_catalog.regclass
), digest AS MATERIALIZED (
    SELECT p.oid, pg_catalog.concat_ws(' ', 'function',
               p.oid::pg_catalog.regprocedure::pg_catalog.text, pg_catalog.md5(pg_catalog.concat_ws('|',
                   p.prosrc, p.probin, p.proconfig::pg_catalog.text, p.provolatile::pg_catalog.text,
                   p.proisstrict::pg_catalog.text, pg_catalog.format_type(p.prorettype, NULL),
                   pg_catalog.jsonb_extract_path_text(pg_catalog.to_jsonb(p), 'prosqlbody')))) AS line
    FROM pg_catalog.pg_proc p CROSS JOIN core
    WHERE p.oid {any} (ARRAY(SELECT oid FROM all_called))
      AND p.pronamespace {ne} core.oid
), line (partrelid, place, rank, line) AS (
    SELECT k.partrelid, k.place, 0, pg_catalog.concat_ws(' ', 'key', COALESCE(
               pg_catalog.quote_ident(u.attname),
               pg_catalog.pg_get_expr(k.partexprs, k.partrelid)))
    FROM keyed k
    LEFT JOIN used u ON u.partrelid {eq} k.partrelid
        AND u.place {eq} k.place AND u.attnum {eq} k.attnum
    UNION ALL
    SELECT k.partrelid, k.place, 1, pg_catalog.concat_ws(' ', 'operator class', pg_catalog.concat_ws('.',
               pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(o.opcname)))
    FROM keyed k
    JOIN pg_catalog.pg_opclass o ON o.oid {eq} k.opclass
    JOIN pg_catalog.pg_namespace n ON n.oid {eq} o.opcnamespace
    UNION ALL
    SELECT k.partrelid, k.place, 2, pg_catalog.concat_ws(' ', 'collation',
               k.coll::pg_catalog.regcollation::pg_catalog.text)
    FROM keyed k WHERE k.coll {ne} 0
    UNION ALL
    SELECT u.partrelid, u.place, 3, pg_catalog.concat_ws(' ', 'column', pg_catalog.quote_ident(u.attname),
               pg_catalog.format_type(u.atttypid, u.atttypmod),
               'COLLATE ' OPERATOR(pg_catalog.||)
                   NULLIF(u.attcollation, 0::pg_catalog.oid)::pg_catalog.regcollation::pg_catalog.text)
    FROM used u
    UNION ALL
    SELECT u.partrelid, u.place, 4, pg_catalog.concat_ws(' ', 'default of', pg_catalog.quote_ident(u.attname),
               u.attidentity::pg_catalog.text, u.attgenerated::pg_catalog.text, t.typdefault,
               pg_catalog.pg_get_expr(d.adbin, d.adrelid))
    FROM used u
    JOIN pg_catalog.pg_type t ON t.oid {eq} u.atttypid
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid {eq} u.partrelid
        AND d.adnum {eq} u.attnum
    WHERE NOT u.attname::pg_catalog.text {any} ($2)
    UNION ALL
    SELECT u.partrelid, u.place, 5, t.line
    FROM used u JOIN type_line t ON t.top {eq} u.atttypid
    UNION ALL
    SELECT k.partrelid, k.place, 6, d.line
    FROM keyed k
    JOIN all_called r ON r.kind {eq} 'key'
        AND r.owner {eq} k.partrelid
    JOIN digest d ON d.oid {eq} r.oid
    UNION ALL
    SELECT u.partrelid, u.place, 6, d.line
    FROM used u
    JOIN all_called r ON r.kind {eq} 'type'
        AND r.owner {eq} u.atttypid
    JOIN digest d ON d.oid {eq} r.oid
), described (partrelid, lines) AS (
    SELECT partrelid, pg_catalog.array_agg(line ORDER BY place, rank, line)
    FROM (SELECT DISTINCT partrelid, place, rank, line FROM line) AS l
    GROUP BY partrelid
)
SELECT lines, pg_catalog.array_agg(partrelid) FROM described GROUP BY lines"
);

impl Catalogue {
    /// Reads how the keys of all nodes are read.
    pub(crate) async fn read_reads(&mut self, client: &Client) -> Result<()> {
        let keyed = self.tree.nodes.iter().zip(&self.facts).filter(|(node, _)| node.key.is_some());
        let oids: Vec<Oid> = keyed.map(|(_, facts)| facts.oid).collect();
        if oids.is_empty() {
            return Ok(());
        }
        let parameters: [(&(dyn ToSql + Sync), Type); 2] =
            [(&oids, Type::OID_ARRAY), (&self.columns, Type::TEXT_ARRAY)];
        // The server overestimates the rows greatly, and would compile the query.
        let before = [sql::DEPARSE_SETTINGS, "SET jit = off"].join("; ");
        let reads = fill(READS, &[]);
        let after = [sql::RESET_SETTINGS, "RESET jit"].join("; ");
        let (_, rows, _) = try_join3(
            client.batch_execute(&before),
            client.query_typed(&reads, &parameters),
            client.batch_execute(&after),
        )
        .await?;
        let mut reads: HashMap<Oid, Vec<String>> = HashMap::new();
        for row in rows {
            let (lines, tables): (Vec<String>, Vec<Oid>) = (row.get(0), row.get(1));
            reads.extend(tables.into_iter().map(|table| (table, lines.clone())));
        }
        for facts in &mut self.facts {
            facts.reads = reads.remove(&facts.oid).unwrap_or_default();
        }
        Ok(())
    }
}
