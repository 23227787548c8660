//! Obstacles: properties that a partitioned table cannot have, or that a move would lose.
//!
//! An object that depends on the table and is not known to be carried over is an obstacle.

/// Returns the obstacles to moving table `$1`, which is a DEFAULT partition if `$2`: the reason, and the next
/// step. Must run under [`crate::pg::sql::DEPARSE_SETTINGS`].
pub(in crate::moving) const OBSTACLES: &str = "
WITH t AS (
    SELECT c.*, n.nspname, format('%I.%I', n.nspname, c.relname) AS own
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = $1
),
trigger_ AS (
    SELECT g.*, own FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
),
-- Its constraints, without the parts of a foreign key that refer to single partitions.
whole AS (
    SELECT con.* FROM t JOIN pg_constraint con ON con.conrelid = t.oid
    LEFT JOIN pg_constraint above ON above.oid = con.conparentid WHERE above.conrelid IS DISTINCT FROM con.conrelid
),
-- The table, its indexes, sequences and row types, and what depends on them.
part (classid, objid) AS (
    SELECT 'pg_class'::regclass::oid, oid FROM t
    UNION SELECT 'pg_class'::regclass::oid, indexrelid FROM t JOIN pg_index ON indrelid = t.oid
    UNION SELECT 'pg_type'::regclass::oid, y.oid FROM t JOIN pg_type y ON y.oid = t.reltype
    UNION SELECT 'pg_type'::regclass::oid, y.typarray FROM t JOIN pg_type y ON y.oid = t.reltype
    -- A new sequence takes the place of this one.
    UNION SELECT 'pg_class'::regclass::oid, d.objid FROM t
          JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype = 'i'
          JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S'
    UNION SELECT 'pg_constraint'::regclass::oid, con.oid FROM t JOIN pg_constraint con ON con.conrelid = t.oid
),
other AS (
    SELECT DISTINCT CASE WHEN r.oid IS NULL THEN pg_describe_object(d.classid, d.objid, d.objsubid)
                         ELSE pg_describe_object('pg_class'::regclass, r.ev_class, 0) END AS what
    FROM t CROSS JOIN part p
    JOIN pg_depend d ON d.refclassid = p.classid AND d.refobjid = p.objid
    LEFT JOIN part itself ON (itself.classid, itself.objid) = (d.classid, d.objid)
    LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
    LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
    LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    LEFT JOIN pg_class v ON v.oid = r.ev_class
    WHERE itself.objid IS NULL
      -- Carried over, or reported by itself below.
      AND (c.relnamespace = 'pg_toast'::regnamespace OR c.relkind = 'S' AND d.deptype IN ('a', 'i')
           OR g.tgrelid = t.oid OR g.tgisinternal OR v.relkind = 'v' AND r.rulename = '_RETURN'
              AND p.classid <> 'pg_constraint'::regclass AND pg_get_viewdef(v.oid) !~ '\\mONLY\\M'
           OR r.ev_class = t.oid
           OR d.classid = 'pg_attrdef'::regclass
              AND EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND a.adrelid = t.oid)
           OR d.classid = 'pg_policy'::regclass
              AND EXISTS (SELECT FROM pg_policy a WHERE a.oid = d.objid AND a.polrelid = t.oid)
           OR d.classid = 'pg_statistic_ext'::regclass
              AND EXISTS (SELECT FROM pg_statistic_ext a WHERE a.oid = d.objid AND a.stxrelid = t.oid)
           OR d.classid = 'pg_constraint'::regclass
              AND EXISTS (SELECT FROM pg_constraint a WHERE a.oid = d.objid AND a.contype = 'f' AND a.conrelid <> t.oid)
           OR d.classid = 'pg_publication_rel'::regclass
           -- Before PostgreSQL 14, sequences have row types.
           OR d.classid = 'pg_type'::regclass
              AND EXISTS (SELECT FROM pg_class s WHERE s.reltype = d.objid AND s.relkind = 'S')) IS NOT TRUE
)
SELECT why, next FROM (
    SELECT 'this role does not own it' AS why, format('Connect as %s.', relowner::regrole) AS next
    FROM t WHERE NOT pg_has_role(relowner, 'USAGE')
    UNION ALL
    SELECT format('role %s may not create tables in schema %I', role, nspname),
           format('GRANT CREATE ON SCHEMA %I TO %s;', nspname, role)
    FROM t, LATERAL (VALUES (relowner::regrole), (current_user::regrole)) AS r (role)
    WHERE NOT has_schema_privilege(role, relnamespace, 'CREATE')
    UNION ALL
    SELECT format('role %s may not use schema %I', relowner::regrole, nspname),
           format('GRANT USAGE ON SCHEMA %I TO %s;', nspname, relowner::regrole)
    FROM t WHERE NOT has_schema_privilege(relowner, relnamespace, 'USAGE')
    UNION ALL
    SELECT CASE relpersistence WHEN 't' THEN 'it is a temporary table'
                               ELSE 'it is unlogged, which a partitioned table cannot be' END,
           CASE relpersistence WHEN 't' THEN 'Copy its rows into a regular table.'
                               ELSE format('ALTER TABLE %s SET LOGGED;', own) END
    FROM t WHERE relpersistence <> 'p'
    UNION ALL
    SELECT format('its access method is %s', amname), 'Only tables of access method heap can be moved.'
    FROM t JOIN pg_am ON pg_am.oid = t.relam WHERE amname <> 'heap'
    UNION ALL
    SELECT format('it inherits from %s', inhparent::regclass),
           format('ALTER TABLE %s NO INHERIT %s;', own, inhparent::regclass)
    FROM t JOIN pg_inherits i ON i.inhrelid = t.oid WHERE NOT t.relispartition
    UNION ALL
    SELECT format('it is a partition of %s', inhparent::regclass), 'Name the partitioned table, or detach the partition first.'
    FROM t JOIN pg_inherits i ON i.inhrelid = t.oid WHERE t.relispartition AND NOT $2::bool
    UNION ALL
    SELECT format('this role does not own %s', p.oid::regclass),
           CASE p.relowner WHEN t.relowner THEN format('Connect as %s.', p.relowner::regrole)
                           ELSE 'Let one role own both tables.' END
    FROM t JOIN pg_inherits i ON i.inhrelid = t.oid JOIN pg_class p ON p.oid = i.inhparent
    WHERE $2 AND NOT pg_has_role(p.relowner, 'USAGE')
    UNION ALL
    SELECT format('it has the trigger %I of its own', tgname), format('DROP TRIGGER %I ON %s;', tgname, own)
    FROM trigger_ WHERE $2 AND tgparentid = 0 AND tgname NOT IN ('pgsluice_log', 'pgsluice_truncate')
    UNION ALL
    SELECT format('its trigger %I is enabled in another way than that of %s', g.tgname, above.tgrelid::regclass),
           format('Let trigger %I be enabled in the same way in both tables.', g.tgname)
    -- Before PostgreSQL 15, the trigger of a partition is an internal one.
    FROM t JOIN pg_trigger g ON g.tgrelid = t.oid JOIN pg_trigger above ON above.oid = g.tgparentid
    WHERE $2 AND g.tgenabled <> above.tgenabled AND (g.tgconstraint = 0 OR NOT g.tgisinternal)
    UNION ALL
    SELECT 'it has row security of its own', format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY;', own)
    FROM t WHERE $2 AND relrowsecurity
    UNION ALL
    SELECT format('view %s reads it by its name', v.oid::regclass), format('Let view %s read the partitioned table.', v.oid::regclass)
    FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
    JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
    WHERE $2
    UNION ALL
    SELECT format('table %s inherits from it', inhrelid::regclass),
           format('ALTER TABLE %s NO INHERIT %s;', inhrelid::regclass, own)
    FROM t JOIN pg_inherits i ON i.inhparent = t.oid
    UNION ALL
    SELECT format('it is of type %s', reloftype::regtype), format('ALTER TABLE %s NOT OF;', own)
    FROM t WHERE reloftype <> 0
    UNION ALL
    SELECT format('it has the rule %I', rulename), format('DROP RULE %I ON %s;', rulename, own)
    FROM t JOIN pg_rewrite r ON r.ev_class = t.oid
    UNION ALL
    SELECT format('role %s may not refer to %s, as foreign key %I does', role, confrelid::regclass, conname),
           format('GRANT REFERENCES ON %s TO %s;', confrelid::regclass, role)
    FROM t JOIN pg_constraint con ON con.conrelid = t.oid AND con.contype = 'f',
         LATERAL (VALUES (relowner::regrole), (current_user::regrole)) AS r (role)
    WHERE NOT has_table_privilege(role, confrelid, 'REFERENCES')
    UNION ALL
    SELECT format('constraint %I is not valid, so that rows may violate it', conname),
           format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', own, conname)
    FROM t JOIN whole con ON NOT convalidated
    WHERE to_jsonb(con) ->> 'conenforced' IS DISTINCT FROM 'false'
    UNION ALL
    SELECT format('constraint %I is not enforced', conname),
           format('ALTER TABLE %s DROP CONSTRAINT %I;', own, conname)
    FROM t JOIN whole con ON to_jsonb(con) ->> 'conenforced' = 'false'
    UNION ALL
    SELECT format('triggers of its foreign key %I are disabled', conname), enabling
    FROM whole, LATERAL (
        SELECT string_agg(format('ALTER TABLE %s ENABLE TRIGGER %I;', g.tgrelid::regclass, g.tgname), ' ') AS enabling
        FROM pg_trigger g WHERE g.tgconstraint = whole.oid AND g.tgenabled <> 'O') AS d
    WHERE contype = 'f' AND enabling IS NOT NULL
    UNION ALL
    SELECT format('constraint %I is not inherited, which a partitioned table does not support', conname),
           format('Replace constraint %I by one without NO INHERIT.', conname)
    FROM t JOIN pg_constraint con ON con.conrelid = t.oid AND con.contype IN ('c', 'n') AND con.connoinherit
    UNION ALL
    SELECT format('it has the exclusion constraint %I', conname),
           format('ALTER TABLE %s DROP CONSTRAINT %I;', own, conname)
    FROM t JOIN pg_constraint con ON con.conrelid = t.oid
    WHERE con.contype = 'x' OR con.contype IN ('p', 'u') AND to_jsonb(con) ->> 'conperiod' = 'true'
    UNION ALL
    SELECT format('its index %I is not valid', c.relname), format('REINDEX INDEX %I.%I;', nspname, c.relname)
    FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT (i.indisvalid AND i.indisready)
    UNION ALL
    SELECT format('its replica identity is the index %I', c.relname),
           format('ALTER TABLE %s REPLICA IDENTITY DEFAULT;', own)
    FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indisreplident AND t.relreplident = 'i'
    UNION ALL
    SELECT format('row trigger %I has transition tables, which a partitioned table does not support', tgname),
           format('DROP TRIGGER %I ON %s;', tgname, own)
    FROM trigger_ WHERE tgtype & 1 = 1 AND (tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL)
    UNION ALL
    SELECT format('publication %I publishes it', pubname), format('ALTER PUBLICATION %I DROP TABLE %s;', pubname, own)
    FROM t JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid
    WHERE $2
    UNION ALL
    SELECT format('publication %I would publish the new partitions under their own names', p.pubname),
           format('ALTER PUBLICATION %I SET (publish_via_partition_root = true);', p.pubname)
    FROM t JOIN pg_publication_tables l ON (l.schemaname, l.tablename) = (t.nspname, t.relname)
    JOIN pg_publication p ON p.pubname = l.pubname
    WHERE NOT puballtables AND NOT pubviaroot
    UNION ALL
    SELECT format('publication %I publishes only some of INSERT, UPDATE and DELETE, but a row that moves to another partition is deleted and inserted', pubname),
           format('ALTER PUBLICATION %I SET (publish = ''insert, update, delete, truncate'');', pubname)
    FROM t JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid
    WHERE (pubinsert OR pubupdate OR pubdelete) AND NOT (pubinsert AND pubupdate AND pubdelete) AND NOT $2
    UNION ALL
    SELECT format('this role does not own publication %I, which publishes it', pubname),
           CASE WHEN pg_has_role(pubowner, relowner, 'USAGE') THEN format('Connect as %s.', pubowner::regrole)
                ELSE 'Let one role own the table and the publication, or connect as a member of both owners.' END
    FROM t JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid
    WHERE NOT pg_has_role(pubowner, 'USAGE')
    UNION ALL
    SELECT format('publication %I publishes all tables, and would publish the new ones', pubname),
           'Replace it by a publication of single tables.'
    FROM pg_publication WHERE puballtables
    UNION ALL
    SELECT format('a publication publishes all tables of schema %I, and would publish the new ones', nspname),
           'Replace it by a publication of single tables.'
    FROM t WHERE EXISTS (
        SELECT FROM pg_depend d JOIN pg_class k ON k.oid = d.classid AND k.relname = 'pg_publication_namespace'
        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = t.relnamespace)
    UNION ALL
    SELECT 'a subscription writes to it', 'Drop the subscription, or remove the table from its publication.'
    FROM t JOIN pg_subscription_rel s ON s.srrelid = t.oid
    UNION ALL
    SELECT format('it has a security label of %s', provider), format('SECURITY LABEL FOR %I ON TABLE %s IS NULL;', provider, own)
    FROM t JOIN pg_seclabel s ON s.objoid = t.oid AND s.classoid = 'pg_class'::regclass
    UNION ALL
    SELECT format('privileges on it were granted by %s', grantor::regrole),
           format('Grant them again as %s.', relowner::regrole)
    FROM (SELECT relowner, grantor FROM t, aclexplode(relacl)
          UNION
          SELECT relowner, grantor FROM t JOIN pg_attribute a ON a.attrelid = t.oid, aclexplode(attacl)) AS granted
    WHERE grantor <> relowner
    UNION ALL
    SELECT format('role %s does not own %s, which depends on it', current_user::regrole, v.oid::regclass),
           format('Connect as %s.', v.relowner::regrole)
    FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
    JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
    WHERE NOT pg_has_role(v.relowner, 'USAGE')
    UNION ALL
    SELECT format('%s depends on it', what),
           format('Drop %s, and create it again afterwards.', what)
    FROM other
    UNION ALL
    SELECT format('it belongs to extension %s', extname), 'Tables of extensions cannot be moved.'
    FROM t JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
) AS obstacle
GROUP BY why, next ORDER BY why";

/// Returns the publications of table `$1` whose column list lacks some of the columns `$2`, which are added
/// to its primary key: the reason, and the next step. Rows of such a table could not be updated.
pub(in crate::moving) const UNPUBLISHED: &str = "
SELECT format('publication %I does not publish %s, which the primary key gets', p.pubname, columns),
       format('Add %s to the columns of publication %I.', columns, p.pubname)
FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid,
LATERAL (
    SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute a
    WHERE a.attrelid = r.prrelid AND attname = ANY ($2::text[]) AND NOT to_jsonb(r) -> 'prattrs' @> to_jsonb(attnum)) AS l
WHERE r.prrelid = $1 AND jsonb_typeof(to_jsonb(r) -> 'prattrs') = 'array' AND columns IS NOT NULL
ORDER BY p.pubname";

/// Returns the query for the rows of `table` whose generated columns the server would now compute
/// differently.
pub(in crate::moving) fn stale(table: &str, columns: &[(String, String)]) -> String {
    let differs: Vec<String> = columns
        .iter()
        .map(|(column, expression)| format!("{column} IS DISTINCT FROM ({expression})"))
        .collect();
    format!("SELECT * FROM ONLY {table} WHERE {}", differs.join(" OR "))
}
