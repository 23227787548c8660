//! A description of a leaf from the catalogue, as the statements that create a table like it.
//!
//! Each row describes one part of a leaf: the phase that creates it, its kind, its name, and a text. The text
//! is the statement that creates it, unless another statement does. All names in the texts are the leaf's
//! own, or those of its shadow, the table that is built for it. So the same query returns the statements, and
//! later shows whether the finished table is complete.
//!
//! The query must run under [`crate::pg::sql::DEPARSE_SETTINGS`], which makes the server qualify names when
//! it deparses.

use super::harmless::HARMLESS;

/// Lists the leaves `$1` in their order, each once for every mode in `$2`. The mode says whether to describe
/// its shadow, which has the comment `$3` and a name that ends in `$4`. The names of its indexes end in `$4`
/// too, because indexes in one schema cannot share a name.
const LEAVES: &str = "
WITH leaf AS (
    SELECT o.place, m.shadow, c.oid, c.relname, c.relowner, c.relam, c.reltablespace,
           c.reltoastrelid, c.relpersistence, c.relreplident, c.reloptions, c.relacl,
           c.relpartbound, c.reltype, n.nspname, i.inhparent,
           to_jsonb(c) - '{pg_class}'::text[] AS fields,
           c.relacl IS NOT NULL OR EXISTS (
               SELECT FROM pg_default_acl
               WHERE defaclobjtype = 'r' AND defaclrole = current_user::regrole) AS restated,
           format('%I.%I', n.nspname, c.relname) AS own,
           format('%I.%I', n.nspname,
                  CASE WHEN m.shadow THEN concat('pgsluice_new_', c.oid, '_', $4::text)
                       ELSE c.relname END) AS target
    FROM unnest($1::oid[]) WITH ORDINALITY AS o (oid, place)
    CROSS JOIN unnest($2::bool[]) AS m (shadow)
    JOIN pg_class c ON c.oid = o.oid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_inherits i ON i.inhrelid = c.oid
),
column_ AS (
    SELECT l.place, l.shadow, l.target, l.own, a.*,
           to_jsonb(a) - '{pg_attribute}'::text[] AS fields,
           row_number() OVER (PARTITION BY l.place, l.shadow ORDER BY a.attnum) AS position,
           COALESCE((to_jsonb(a) ->> 'attstattarget')::int4, -1) AS statistics
    FROM leaf l
    JOIN pg_attribute a ON a.attrelid = l.oid AND a.attnum > 0 AND NOT a.attisdropped
),
index_ AS (
    SELECT l.place, l.shadow, l.target, l.own, l.nspname, i.*, c.relname, c.reloptions, con.contype,
           to_jsonb(i) - '{pg_index}'::text[] AS fields,
           COALESCE(con.contype = 'x' OR to_jsonb(con) ->> 'conperiod' = 'true', false) AS by_constraint,
           CASE WHEN l.shadow THEN concat('pgsluice_new_', c.oid, '_', $4) ELSE c.relname END AS named,
           COALESCE((SELECT spcname FROM pg_tablespace t WHERE t.oid = c.reltablespace), '') AS space,
           -- What pg_get_indexdef begins with: ruleutils.c, pg_get_indexdef_worker, 13 to 18.
           format('CREATE %sINDEX %I ON %s USING ',
                  CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END, c.relname, l.own) AS prefix,
           pg_get_indexdef(c.oid) AS definition
    FROM leaf l
    JOIN pg_index i ON i.indrelid = l.oid
    JOIN pg_class c ON c.oid = i.indexrelid
    LEFT JOIN pg_constraint con ON con.conindid = c.oid AND con.contype IN ('p', 'u', 'x')
                                   AND con.conrelid = l.oid
),
-- A foreign key to a partitioned table has further rows, one for each of its partitions.
constraint_ AS (
    SELECT l.place, l.shadow, l.target, l.own, con.*, pg_get_constraintdef(con.oid) AS definition,
           to_jsonb(con) - '{pg_constraint}'::text[] AS fields
    FROM leaf l
    JOIN pg_constraint con ON con.conrelid = l.oid
    LEFT JOIN pg_constraint above ON above.oid = con.conparentid
    WHERE above.conrelid IS DISTINCT FROM con.conrelid
),
-- Those that users have made; the others belong to constraints.
trigger_ AS (
    SELECT l.place, l.shadow, l.own, g.oid, g.tgname, g.tgenabled, g.tgparentid,
           to_jsonb(g) - '{pg_trigger}'::text[] AS fields
    FROM leaf l
    JOIN pg_trigger g ON g.tgrelid = l.oid
    WHERE NOT EXISTS (SELECT FROM pg_constraint con
                      WHERE con.oid = g.tgconstraint AND con.contype <> 't')
),
statistics_ AS (
    SELECT l.place, l.shadow, l.own, s.*, format('%I.%I', n.nspname, s.stxname) AS named,
           to_jsonb(s) - '{pg_statistic_ext}'::text[] AS fields,
           (to_jsonb(s) ->> 'stxstattarget')::int4 AS target
    FROM leaf l
    JOIN pg_statistic_ext s ON s.stxrelid = l.oid
    JOIN pg_namespace n ON n.oid = s.stxnamespace
)";

/// The parts that are only described for comparison: rows of the catalogue, without the columns of
/// [`super::harmless`]. Oids of other tables are replaced by texts.
const DESCRIBED: &str = "
SELECT place, shadow, 'described' AS phase, 0 AS step, 'table' AS kind, relname::text AS name,
       concat_ws(', ', own, 'partition of ' || inhparent::regclass, pg_get_expr(relpartbound, 0),
                 'below ' || pg_partition_root(oid)::regclass, 'owner ' || relowner::regrole,
                 (SELECT 'method ' || amname FROM pg_am WHERE pg_am.oid = relam),
                 (SELECT 'tablespace ' || spcname FROM pg_tablespace t WHERE t.oid = reltablespace),
                 (SELECT 'toast ' || t.reloptions::text FROM pg_class t WHERE t.oid = leaf.reltoastrelid),
                 (SELECT 'row type ' || typacl::text FROM pg_type t WHERE t.oid = leaf.reltype),
                 'comment on row type ' || obj_description(reltype, 'pg_type'), fields) AS sql
FROM leaf
UNION ALL
SELECT place, shadow, 'described', 0, 'column', attname,
       concat_ws(', ', position, format_type(atttypid, atttypmod), 'statistics ' || statistics,
                 (SELECT 'default ' || pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
                  WHERE d.adrelid = c.attrelid AND d.adnum = c.attnum), fields)
FROM column_ c
UNION ALL
SELECT place, shadow, 'described', 0, 'constraint', conname,
       concat_ws(', ', definition,
                 CASE WHEN contype IN ('c', 'n') THEN 'no inherit ' || connoinherit END,
                 (SELECT format('part of %I on %s', above.conname, above.conrelid::regclass)
                  FROM pg_constraint above WHERE above.oid = c.conparentid), fields)
FROM constraint_ c
UNION ALL
SELECT place, shadow, 'described', 0, 'index', relname,
       concat_ws(', ', definition, 'tablespace ' || space,
                 (SELECT 'part of ' || inhparent::regclass FROM pg_inherits
                  WHERE inhrelid = indexrelid), fields)
FROM index_
UNION ALL
SELECT place, shadow, 'described', 0, 'trigger', tgname,
       concat_ws(', ', pg_get_triggerdef(oid), 'part of another ' || (tgparentid <> 0), fields)
FROM trigger_
UNION ALL
SELECT place, shadow, 'described', 0, 'statistics', named, fields::text FROM statistics_";

/// The table without indexes. A constraint tells the server from the start which rows it contains, so that
/// the server need not read them when the table is attached. An identity comes from the parent (17), or is an
/// obstacle.
const CREATED: &str = "
SELECT place, shadow, 'create', 1, 'table', relname::text,
       format('SET LOCAL default_tablespace = %L; CREATE %sTABLE %s (%s) USING %I%s',
              COALESCE((SELECT spcname FROM pg_tablespace t WHERE t.oid = reltablespace), ''),
              CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, target,
              concat_ws(', ', format('LIKE %s INCLUDING ALL EXCLUDING COMMENTS EXCLUDING IDENTITY '
                                     'EXCLUDING INDEXES EXCLUDING STATISTICS', own),
                        'CONSTRAINT pgsluice_bound CHECK (' || pg_get_partition_constraintdef(oid) || ')'),
              (SELECT amname FROM pg_am WHERE pg_am.oid = relam),
              (SELECT ' WITH (' || string_agg(format('%s%I = %L', prefix, option_name, option_value), ', ') || ')'
               FROM (SELECT '' AS prefix, * FROM pg_options_to_table(reloptions)
                     UNION ALL
                     SELECT 'toast.', o.* FROM pg_class t, pg_options_to_table(t.reloptions) o
                     WHERE t.oid = leaf.reltoastrelid) AS options))
FROM leaf WHERE shadow
UNION ALL
SELECT place, shadow, 'create', 2, 'mark', relname,
       format('COMMENT ON TABLE %s IS %L', target, format($3, oid))
FROM leaf WHERE shadow
UNION ALL
SELECT place, shadow, 'create', 3, 'statistics', attname,
       format('ALTER TABLE %s ALTER %I SET STATISTICS %s', target, attname, statistics)
FROM column_ WHERE shadow AND statistics >= 0
UNION ALL
SELECT place, shadow, 'create', 3, 'options', attname,
       format('ALTER TABLE %s ALTER %I SET (%s)', target, attname,
              (SELECT string_agg(format('%I = %L', option_name, option_value), ', ')
               FROM pg_options_to_table(attoptions)))
FROM column_ WHERE shadow AND attoptions IS NOT NULL
UNION ALL
-- LIKE takes them for valid, and ATTACH does not mind.
SELECT place, shadow, 'create', 3, 'constraint', conname,
       format('ALTER TABLE %s DROP CONSTRAINT %I; ALTER TABLE %1$s ADD CONSTRAINT %2$I %s', target, conname,
              definition)
FROM constraint_ WHERE shadow AND contype IN ('c', 'n') AND definition LIKE '% NOT VALID'
UNION ALL
SELECT place, shadow, 'create', 4, 'owner', relname, format('ALTER TABLE %s OWNER TO %s', target, relowner::regrole)
FROM leaf WHERE shadow AND relowner <> current_user::regrole";

/// The parts that are built after the rows are loaded: first each index by itself, then the parts that need
/// an index or read the rows.
const BUILT: &str = "
SELECT place, shadow, 'index', 1, 'index', relname::text,
       CASE WHEN starts_with(definition, prefix)
            THEN format('SET default_tablespace TO %L; CREATE %sINDEX %I ON %s USING %s', space,
                        CASE WHEN indisunique THEN 'UNIQUE ' ELSE '' END, named, target,
                        substr(definition, length(prefix) + 1)) END
FROM index_ WHERE shadow AND NOT by_constraint
UNION ALL
SELECT c.place, c.shadow, 'finish', 2, 'constraint', conname,
       CASE WHEN by_constraint
            THEN format('SET default_tablespace TO %L; ALTER TABLE %s ADD CONSTRAINT %I %s',
                        space, c.target, named, c.definition)
            ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I%s%s', c.target, named,
                        CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, named,
                        CASE WHEN condeferrable THEN ' DEFERRABLE' END,
                        CASE WHEN condeferred THEN ' INITIALLY DEFERRED' END) END
FROM constraint_ c JOIN index_ i USING (place, shadow)
WHERE c.shadow AND c.contype IN ('p', 'u', 'x') AND i.indexrelid = c.conindid
UNION ALL
SELECT place, shadow, 'finish', 3, 'clustered', relname,
       format('ALTER TABLE %s CLUSTER ON %I', target, named)
FROM index_ WHERE indisclustered
UNION ALL
SELECT i.place, i.shadow, 'finish', 3, 'index statistics', i.relname || '.' || a.attnum,
       format('ALTER INDEX %I.%I ALTER %s SET STATISTICS %s', i.nspname, i.named, a.attnum,
              to_jsonb(a) ->> 'attstattarget')
FROM index_ i JOIN pg_attribute a ON a.attrelid = i.indexrelid
WHERE (to_jsonb(a) ->> 'attstattarget')::int4 >= 0 AND i.indexprs IS NOT NULL
UNION ALL
SELECT place, shadow, 'finish', 3, 'replica identity', relname,
       format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', target, named)
FROM index_ WHERE indisreplident
UNION ALL
SELECT place, shadow, 'finish', 3, 'replica identity', relname,
       format('ALTER TABLE %s REPLICA IDENTITY %s', target,
              CASE relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END)
FROM leaf WHERE relreplident IN ('f', 'n')
UNION ALL
-- The rows are checked by a statement of their own, which lets others write to the other table.
SELECT place, shadow, 'finish', 4, 'foreign key', conname,
       format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', target, conname, definition,
              CASE WHEN convalidated THEN ' NOT VALID' END)
FROM constraint_ WHERE shadow AND contype = 'f'
UNION ALL
SELECT place, shadow, 'finish', 5, 'foreign key', conname,
       format('ALTER TABLE %s VALIDATE CONSTRAINT %I', target, conname)
FROM constraint_ WHERE shadow AND contype = 'f' AND convalidated
UNION ALL
-- Also what ALTER DEFAULT PRIVILEGES has granted on every new table.
SELECT place, shadow, 'finish', 6, 'privileges', relname || ' ' || grantee,
       format('REVOKE ALL ON %s FROM %s', target,
              CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
FROM leaf,
     LATERAL (SELECT (aclexplode(defaclacl)).grantee FROM pg_default_acl
              WHERE defaclobjtype = 'r' AND defaclrole = current_user::regrole
              UNION SELECT 0 UNION SELECT relowner) AS granted
WHERE shadow AND restated
UNION ALL
SELECT place, shadow, 'finish', 7, 'privileges', relname,
       string_agg(format('GRANT %s ON %s TO %s%s', privilege_type, target,
                         CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                         CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '; ' ORDER BY nth)
FROM leaf, aclexplode(COALESCE(relacl, acldefault('r', relowner)))
           WITH ORDINALITY AS acl (grantor, grantee, privilege_type, is_grantable, nth)
WHERE NOT shadow OR restated
GROUP BY place, shadow, relname
UNION ALL
SELECT place, shadow, 'finish', 8, 'privileges', attname,
       string_agg(format('GRANT %s (%I) ON %s TO %s%s', privilege_type, attname, target,
                         CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                         CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '; ' ORDER BY nth)
FROM column_, aclexplode(attacl)
              WITH ORDINALITY AS acl (grantor, grantee, privilege_type, is_grantable, nth)
GROUP BY place, shadow, attname
UNION ALL
SELECT place, shadow, 'finish', 9, 'estimates', relname, format('ANALYZE %s', target) FROM leaf WHERE shadow";

/// The parts that are created while the leaf is locked, and those that need the leaf's name.
const SWAPPED: &str = "
SELECT place, shadow, 'move', 1, 'rows', own,
       format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM ONLY %3$s', target,
              string_agg(quote_ident(attname), ', ' ORDER BY attnum), own)
FROM column_ WHERE shadow AND attgenerated = '' GROUP BY place, shadow, target, own
UNION ALL
SELECT place, shadow, 'rename', 1, 'index', relname::text,
       format('ALTER INDEX %I.%I RENAME TO %I', nspname, named, relname)
FROM index_ WHERE shadow
UNION ALL
-- Which the parent has as well: from ATTACH on it is the parent's only, until it is asked for again (18).
SELECT place, shadow, 'late', 1, 'not null', conname,
       format('ALTER TABLE %s ADD CONSTRAINT %I %s', own, conname, definition)
FROM constraint_ WHERE contype = 'n' AND conislocal AND coninhcount > 0
UNION ALL
SELECT place, shadow, 'late', 1, 'trigger', tgname, pg_get_triggerdef(oid)
FROM trigger_ WHERE tgparentid = 0
UNION ALL
SELECT place, shadow, 'late', 2, 'trigger', tgname,
       format('ALTER TABLE %s %s TRIGGER %I', own,
              CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA'
                             WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE' END, tgname)
FROM trigger_
UNION ALL
SELECT place, shadow, 'late', 1, 'statistics', named, pg_get_statisticsobjdef(oid) FROM statistics_
UNION ALL
SELECT place, shadow, 'late', 2, 'statistics', named,
       format('ALTER STATISTICS %s SET STATISTICS %s', named, target) FROM statistics_ WHERE target >= 0
UNION ALL
SELECT place, shadow, 'late', 3, 'statistics', named,
       format('ALTER STATISTICS %s OWNER TO %s', named, stxowner::regrole) FROM statistics_
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', relname,
       format('COMMENT ON TABLE %s IS %L', own, obj_description(oid, 'pg_class')) FROM leaf
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', attname,
       format('COMMENT ON COLUMN %s.%I IS %L', own, attname, description)
FROM column_, col_description(attrelid, attnum) AS description WHERE description IS NOT NULL
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', conname,
       format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, own, description)
FROM constraint_, obj_description(oid, 'pg_constraint') AS description WHERE description IS NOT NULL
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', relname,
       format('COMMENT ON INDEX %I.%I IS %L', nspname, relname, description)
FROM index_, obj_description(indexrelid, 'pg_class') AS description WHERE description IS NOT NULL
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', tgname,
       format('COMMENT ON TRIGGER %I ON %s IS %L', tgname, own, description)
FROM trigger_, obj_description(oid, 'pg_trigger') AS description WHERE description IS NOT NULL
UNION ALL
SELECT place, shadow, 'late', 4, 'comment', named,
       format('COMMENT ON STATISTICS %s IS %L', named, description)
FROM statistics_, obj_description(oid, 'pg_statistic_ext') AS description
WHERE description IS NOT NULL";

/// Returns the whole query.
pub(super) fn query() -> String {
    let all = [DESCRIBED, CREATED, BUILT, SWAPPED].join("\nUNION ALL\n");
    let query = format!(
        "{LEAVES}\nSELECT place::int4, shadow, phase, kind, name, sql FROM ({all}) AS thing\n\
         ORDER BY place, step, kind, name, sql"
    );
    HARMLESS.iter().fold(query, |query, (catalogue, columns)| {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        query.replace(&format!("'{{{catalogue}}}'"), &format!("'{{{}}}'", names.join(",")))
    })
}
