//! Descriptions of a table, and statements that make another table like it. They must run under
//! [`crate::pg::sql::DEPARSE_SETTINGS`].

/// Finds the table that the name `$1` means in the session's search_path: oid, schema and name.
pub(in crate::moving) const FIND: &str = "
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)";

/// Finds table `$2` of schema `$1`.
pub(in crate::moving) const OID: &str = "
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2";

/// Returns the names of all indexes in schema `$1`.
pub(in crate::moving) const INDEXES_IN: &str = "
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('i', 'I')";

/// Returns the sequence of an identity column `$2` of table `$1`, qualified and quoted.
pub(in crate::moving) const SEQUENCE: &str = "SELECT pg_get_serial_sequence($1, $2)";

/// Returns facts about table `$1`: its kind, owner, size in bytes, estimated rows, the clauses at the end of
/// a leaf's definition, the tablespace of the whole, the replica identity, and the bytes of its indexes.
pub(in crate::moving) const FACTS: &str = "
SELECT c.relkind::text, c.relowner::regrole::text, c.relowner <> current_user::regrole,
       pg_table_size(c.oid), c.reltuples::float8,
       COALESCE((SELECT ' WITH (' || string_agg(format('%s%I = %L', prefix, option_name, option_value), ', ') || ')'
                 FROM (SELECT '' AS prefix, * FROM pg_options_to_table(c.reloptions)
                       UNION ALL
                       SELECT 'toast.', o.* FROM pg_class t, pg_options_to_table(t.reloptions) o
                       WHERE t.oid = c.reltoastrelid) AS options), ''),
       COALESCE((SELECT format(' TABLESPACE %I', spcname) FROM pg_tablespace s WHERE s.oid = c.reltablespace), ''),
       c.relreplident::text, pg_indexes_size(c.oid)
FROM pg_class c WHERE c.oid = $1";

/// Returns the directory with the files of table `$1`, if the session is on the server's computer, and its
/// role may see the directory.
pub(in crate::moving) const DIRECTORY: &str = "
SELECT COALESCE(NULLIF(pg_tablespace_location(COALESCE(NULLIF(c.reltablespace, 0), d.dattablespace)), ''),
                (SELECT setting FROM pg_settings WHERE name = 'data_directory'))
FROM pg_class c JOIN pg_database d ON d.datname = current_database()
WHERE c.oid = $1 AND inet_server_addr() IS NULL";

/// Returns the statements to run after the creation of the root `$2` for table `$1`. Its leaves inherit the
/// settings.
pub(in crate::moving) const OF_COLUMNS: &str = "
SELECT format('ALTER TABLE %s ALTER %I SET STATISTICS %s', $2::text, attname, target)
FROM (SELECT attname, attnum, (to_jsonb(a) ->> 'attstattarget')::int4 AS target
      FROM pg_attribute a WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped) AS c
WHERE target >= 0
UNION ALL
SELECT format('ALTER TABLE %s ALTER %I SET (%s)', $2::text, attname,
              (SELECT string_agg(format('%I = %L', option_name, option_value), ', ')
               FROM pg_options_to_table(attoptions)))
FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attoptions IS NOT NULL";

/// Returns the roles, quoted, to which ALTER DEFAULT PRIVILEGES grants something on a new table, sequence or function.
pub(in crate::moving) const GRANTEES: &str = "
SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
FROM (SELECT DISTINCT (aclexplode(defaclacl)).grantee FROM pg_default_acl
      WHERE defaclobjtype IN ('r', 'S', 'f') AND defaclrole = current_user::regrole) AS granted
WHERE grantee <> current_user::regrole";

/// Returns the indexes of table `$1`: the name, the kind of its constraint, whether it is unique, the
/// definition after `USING` or of the constraint, the tablespace, the columns of `$2` that its key lacks, and
/// those of them that accept NULL.
pub(in crate::moving) const INDEXES: &str = "
SELECT x.relname::text, con.contype::text, i.indisunique,
       CASE WHEN con.oid IS NULL
            THEN substr(pg_get_indexdef(x.oid), length(
                 -- What pg_get_indexdef begins with: ruleutils.c, pg_get_indexdef_worker, 13 to 18.
                 format('CREATE %sINDEX %I ON %I.%I USING ', CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END,
                        x.relname, n.nspname, c.relname)) + 1)
            -- Storage parameters are not a part of it.
            ELSE regexp_replace(pg_get_constraintdef(con.oid), '(( DEFERRABLE)?( INITIALLY DEFERRED)?)$',
                                COALESCE(' WITH (' || array_to_string(x.reloptions, ', ') || ')', '') || '\\1') END,
       COALESCE((SELECT spcname FROM pg_tablespace s WHERE s.oid = x.reltablespace)::text, ''),
       COALESCE(lacks.all_, '{}'), COALESCE(lacks.nullable, '{}')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_index i ON i.indrelid = c.oid
JOIN pg_class x ON x.oid = i.indexrelid
LEFT JOIN pg_constraint con ON con.conindid = x.oid AND con.conrelid = c.oid AND con.contype IN ('p', 'u')
LEFT JOIN LATERAL (
    SELECT array_agg(format('%I', attname) ORDER BY nth) AS all_,
           array_agg(format('%I', attname) ORDER BY nth) FILTER (WHERE NOT attnotnull) AS nullable
    FROM unnest($2::text[]) WITH ORDINALITY AS key (name, nth)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = key.name
    WHERE a.attnum <> ALL ((i.indkey::int2[])[0:i.indnkeyatts - 1])) AS lacks ON true
WHERE c.oid = $1
ORDER BY con.contype = 'p' DESC NULLS LAST, x.relname";

/// Returns the foreign keys of table `$1`: the name, the definition, the comment, and the table that it refers to.
/// Leaves out the parts of a foreign key that refer to partitions of that table.
pub(in crate::moving) const FOREIGN_KEYS: &str = "
SELECT con.conname::text, pg_get_constraintdef(con.oid), obj_description(con.oid, 'pg_constraint'),
       (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = con.confrelid)
FROM pg_constraint con LEFT JOIN pg_constraint above ON above.oid = con.conparentid
WHERE con.conrelid = $1 AND con.contype = 'f' AND above.conrelid IS DISTINCT FROM con.conrelid
ORDER BY con.conname";

/// Returns the stored generated columns of table `$1`, quoted, and their expressions.
pub(in crate::moving) const GENERATED: &str = "
SELECT format('%I', attname), pg_get_expr(adbin, adrelid)
FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE attrelid = $1 AND attgenerated = 's' AND NOT attisdropped ORDER BY attnum";

/// Returns the identity columns of table `$1`, unquoted, with the name of the sequence, qualified and quoted, and its
/// bare name.
pub(in crate::moving) const IDENTITIES: &str = "
SELECT a.attname::text, format('%I.%I', n.nspname, s.relname), s.relname::text
FROM pg_attribute a
JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
                    AND d.classid = 'pg_class'::regclass AND d.deptype = 'i'
JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_namespace n ON n.oid = s.relnamespace
WHERE a.attrelid = $1 AND a.attidentity <> '' AND NOT a.attisdropped ORDER BY a.attnum";

/// Returns the statements to run under the lock of the swap, in order, after the new table has the name of
/// table `$1`.
pub(in crate::moving) const LATE: &str = "
WITH t AS (
    SELECT c.*, format('%I.%I', n.nspname, c.relname) AS own
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1
),
trigger_ AS (SELECT own, g.* FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal),
statistics_ AS (
    SELECT s.*, format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = s.stxnamespace), s.stxname) AS named
    FROM t JOIN pg_statistic_ext s ON s.stxrelid = t.oid
),
view_ AS (
    SELECT DISTINCT v.oid, v.reloptions FROM t
    JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
    JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
)
SELECT sql FROM (
    SELECT 1 AS step, 0::int8 AS nth, '' AS name,
           format('REVOKE ALL ON %s FROM PUBLIC, %s', own, relowner::regrole) AS sql FROM t
    UNION ALL
    SELECT 2, nth, '', format('GRANT %s ON %s TO %s%s', privilege_type, own,
                              CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                              CASE WHEN is_grantable AND grantee <> relowner THEN ' WITH GRANT OPTION' END)
    FROM t, aclexplode(COALESCE(relacl, acldefault('r', relowner)))
            WITH ORDINALITY AS acl (grantor, grantee, privilege_type, is_grantable, nth)
    UNION ALL
    SELECT 2, nth, attname, format('GRANT %s (%I) ON %s TO %s%s', privilege_type, attname, own,
                                   CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                                   CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END)
    FROM t JOIN pg_attribute a ON a.attrelid = t.oid,
         aclexplode(attacl) WITH ORDINALITY AS acl (grantor, grantee, privilege_type, is_grantable, nth)
    UNION ALL
    SELECT 3, 0, polname, format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s', polname, own,
           CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
           CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
                       WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
           (SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END, ', ')
            FROM unnest(polroles) AS role),
           ' USING (' || pg_get_expr(polqual, polrelid) || ')',
           ' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')')
    FROM t JOIN pg_policy ON polrelid = t.oid
    UNION ALL
    SELECT 4, 0, '', format('ALTER TABLE %s %s ROW LEVEL SECURITY', own, what)
    FROM t, LATERAL (VALUES (CASE WHEN relrowsecurity THEN 'ENABLE' END),
                            (CASE WHEN relforcerowsecurity THEN 'FORCE' END)) AS v (what)
    WHERE what IS NOT NULL
    UNION ALL
    SELECT 5, 0, tgname, pg_get_triggerdef(oid) FROM trigger_
    UNION ALL
    SELECT 6, 0, tgname, format('ALTER TABLE %s %s TRIGGER %I', own,
           CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)
    FROM trigger_ WHERE tgenabled <> 'O'
    UNION ALL
    SELECT 7, 0, named, format('ALTER STATISTICS %s RENAME TO %I', named,
                               concat(left(stxname, 40), '_old_', oid)) FROM statistics_
    UNION ALL
    SELECT 8, 0, named, pg_get_statisticsobjdef(oid) FROM statistics_
    UNION ALL
    SELECT 9, 0, named, format('ALTER STATISTICS %s SET STATISTICS %s', named, target)
    FROM (SELECT named, (to_jsonb(s) ->> 'stxstattarget')::int4 AS target FROM statistics_ s) AS s WHERE target >= 0
    UNION ALL
    SELECT 9, 1, named, format('ALTER STATISTICS %s OWNER TO %s', named, stxowner::regrole)
    FROM statistics_ WHERE stxowner <> current_user::regrole
    UNION ALL
    SELECT 10, 0, '', format('COMMENT ON TABLE %s IS %L', own, obj_description(oid, 'pg_class')) FROM t
    UNION ALL
    SELECT 10, 0, conname, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, own, description)
    FROM t JOIN pg_constraint con ON con.conrelid = t.oid, obj_description(con.oid, 'pg_constraint') AS description
    WHERE description IS NOT NULL AND con.contype NOT IN ('f', 't')
    UNION ALL
    SELECT 10, 0, x.relname, format('COMMENT ON INDEX %I.%I IS %L', (SELECT nspname FROM pg_namespace WHERE oid = x.relnamespace), x.relname, description)
    FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class x ON x.oid = i.indexrelid,
         obj_description(x.oid, 'pg_class') AS description WHERE description IS NOT NULL
    UNION ALL
    SELECT 10, 0, tgname, format('COMMENT ON TRIGGER %I ON %s IS %L', tgname, own, description)
    FROM trigger_, obj_description(oid, 'pg_trigger') AS description WHERE description IS NOT NULL
    UNION ALL
    SELECT 10, 0, polname, format('COMMENT ON POLICY %I ON %s IS %L', polname, own, description)
    FROM t JOIN pg_policy p ON p.polrelid = t.oid, obj_description(p.oid, 'pg_policy') AS description
    WHERE description IS NOT NULL
    UNION ALL
    SELECT 10, 0, named, format('COMMENT ON STATISTICS %s IS %L', named, description)
    FROM statistics_, obj_description(oid, 'pg_statistic_ext') AS description WHERE description IS NOT NULL
    UNION ALL
    SELECT 11, 0, s.relname, format('ALTER SEQUENCE %I.%I OWNED BY %s.%I', (SELECT nspname FROM pg_namespace WHERE oid = s.relnamespace), s.relname,
                                    own, a.attname)
    FROM t
    JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype = 'a'
                        AND d.classid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
    UNION ALL
    -- The sequence of an identity column is a new one.
    SELECT 11, nth, s.relname, sql
    FROM t
    JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype = 'i'
                        AND d.classid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S',
    LATERAL (
        SELECT 0, format('REVOKE ALL ON SEQUENCE %I.%I FROM %s', (SELECT nspname FROM pg_namespace WHERE oid = s.relnamespace),
                         s.relname, grantee::regrole)
        FROM pg_default_acl, aclexplode(defaclacl)
        WHERE defaclobjtype = 'S' AND defaclrole = current_user::regrole AND grantee <> 0
        UNION ALL
        SELECT 1, format('REVOKE ALL ON SEQUENCE %I.%I FROM PUBLIC, %s', (SELECT nspname FROM pg_namespace WHERE oid = s.relnamespace), s.relname,
                         s.relowner::regrole)
        UNION ALL
        SELECT 1 + nth, format('GRANT %s ON SEQUENCE %I.%I TO %s%s', privilege_type, (SELECT nspname FROM pg_namespace WHERE oid = s.relnamespace),
                               s.relname, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                               CASE WHEN is_grantable AND grantee <> s.relowner THEN ' WITH GRANT OPTION' END)
        FROM aclexplode(COALESCE(s.relacl, acldefault('s', s.relowner)))
             WITH ORDINALITY AS acl (grantor, grantee, privilege_type, is_grantable, nth)
        UNION ALL
        SELECT 100, format('COMMENT ON SEQUENCE %I.%I IS %L', (SELECT nspname FROM pg_namespace WHERE oid = s.relnamespace), s.relname,
                           obj_description(s.oid, 'pg_class'))) AS of_sequence (nth, sql)
    UNION ALL
    SELECT 12, oid::int8, '', format('CREATE OR REPLACE VIEW %s%s AS %s', format('%I.%I', c.nspname, c.relname),
           ' WITH (' || (SELECT string_agg(format('%I = %L', option_name, option_value), ', ')
                         FROM pg_options_to_table(view_.reloptions)) || ')',
           pg_get_viewdef(view_.oid))
    FROM view_ JOIN (SELECT x.oid, x.relname, n.nspname FROM pg_class x
                     JOIN pg_namespace n ON n.oid = x.relnamespace) AS c USING (oid)
) AS late
ORDER BY step, nth, name";

/// Returns two statements for each publication that publishes table `$1` by name: one removes it, and the
/// other adds the table that has the name afterwards. Row filters and column lists require PostgreSQL 15.
pub(in crate::moving) const PUBLISHED: &str = "
SELECT format('ALTER PUBLICATION %I DROP TABLE %s', pubname, own),
       format('ALTER PUBLICATION %I ADD TABLE %s%s%s', pubname, own, ' (' || columns || ')', ' WHERE (' || filter || ')')
FROM (
    SELECT p.pubname, format('%I.%I', n.nspname, c.relname) AS own,
           (SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum) FROM pg_attribute a
            WHERE a.attrelid = c.oid AND to_jsonb(r) -> 'prattrs' @> to_jsonb(a.attnum)) AS columns,
           CASE WHEN to_jsonb(r) ->> 'prqual' IS NOT NULL
                THEN (SELECT to_jsonb(l) ->> 'rowfilter' FROM pg_publication_tables l
                      WHERE (l.pubname, l.schemaname, l.tablename) = (p.pubname, n.nspname, c.relname)) END AS filter
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_publication_rel r ON r.prrelid = c.oid JOIN pg_publication p ON p.oid = r.prpubid
    WHERE c.oid = $1) AS published
ORDER BY pubname";

/// Describes the properties of table `$1`, or of the partitioned table in its place, that users see: each
/// with a kind, a name and a text.
pub(in crate::moving) const DESCRIBED: &str = "
WITH t AS (
    SELECT c.*, format('%I.%I', n.nspname, c.relname) AS own
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1
)
SELECT kind, name, concat_ws(', ', VARIADIC parts) FROM (
    SELECT 'table' AS kind, relname::text AS name,
           ARRAY[own, 'owner ' || relowner::regrole, 'row security ' || relrowsecurity || relforcerowsecurity,
                 'replica identity ' || relreplident::text, 'comment ' || obj_description(oid, 'pg_class')] AS parts
    FROM t
    UNION ALL
    SELECT 'column', attname,
           ARRAY[(row_number() OVER (ORDER BY attnum))::text, format_type(atttypid, atttypmod),
                 CASE WHEN attnotnull THEN 'not null' END, 'identity ' || NULLIF(attidentity, '')::text,
                 'generated ' || NULLIF(attgenerated, '')::text,
                 'collation ' || NULLIF(attcollation, 0)::regcollation, 'storage ' || attstorage::text,
                 'compression ' || NULLIF(to_jsonb(a) ->> 'attcompression', ''),
                 'statistics ' || NULLIF(COALESCE((to_jsonb(a) ->> 'attstattarget')::int4, -1), -1),
                 'options ' || attoptions::text, 'default ' || pg_get_expr(adbin, adrelid),
                 'comment ' || col_description(attrelid, attnum)]
    FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL
    SELECT 'privileges', grantee, ARRAY[string_agg(privilege, ', ' ORDER BY privilege)]
    FROM (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee,
                 privilege_type || CASE WHEN is_grantable AND a.grantee <> relowner THEN ' grantable' ELSE '' END AS privilege
          FROM t, aclexplode(COALESCE(relacl, acldefault('r', relowner))) AS a
          UNION ALL
          SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
                 format('%s (%I)', privilege_type, attname) || CASE WHEN is_grantable THEN ' grantable' ELSE '' END
          FROM t JOIN pg_attribute c ON c.attrelid = t.oid, aclexplode(attacl) AS a) AS granted
    GROUP BY grantee
    UNION ALL
    SELECT 'constraint', con.conname, ARRAY[con.contype::text, pg_get_constraintdef(con.oid),
                                        'comment ' || obj_description(con.oid, 'pg_constraint')]
    FROM t JOIN pg_constraint con ON con.conrelid = t.oid
    LEFT JOIN pg_constraint above ON above.oid = con.conparentid
    WHERE con.contype <> 't' AND above.conrelid IS DISTINCT FROM con.conrelid
    UNION ALL
    SELECT 'index', x.relname,
           ARRAY[replace(pg_get_indexdef(x.oid), format(' ON ONLY %s USING ', own), format(' ON %s USING ', own)),
                 CASE WHEN NOT indisvalid THEN 'not valid' END, 'comment ' || obj_description(x.oid, 'pg_class')]
    FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class x ON x.oid = i.indexrelid
    UNION ALL
    SELECT 'trigger', tgname, ARRAY[pg_get_triggerdef(g.oid), tgenabled::text, obj_description(g.oid, 'pg_trigger')]
    FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'policy', polname,
           ARRAY[polpermissive::text, polcmd::text, polroles::text, 'using ' || pg_get_expr(polqual, polrelid),
                 'with check ' || pg_get_expr(polwithcheck, polrelid), obj_description(p.oid, 'pg_policy')]
    FROM t JOIN pg_policy p ON p.polrelid = t.oid
    UNION ALL
    SELECT 'statistics', stxname, ARRAY[pg_get_statisticsobjdef(s.oid), stxowner::regrole::text,
                                        obj_description(s.oid, 'pg_statistic_ext')]
    FROM t JOIN pg_statistic_ext s ON s.stxrelid = t.oid
    UNION ALL
    SELECT 'sequence', s.relname, ARRAY[d.deptype::text, (SELECT attname FROM pg_attribute a
                                         WHERE a.attrelid = t.oid AND a.attnum = d.refobjsubid)::text,
                 'comment ' || obj_description(s.oid, 'pg_class'),
                 (SELECT string_agg(concat_ws(' ', grantee, privilege_type, is_grantable), ', '
                                    ORDER BY grantee, privilege_type)
                  FROM aclexplode(COALESCE(s.relacl, acldefault('s', s.relowner))))]
    FROM t
    JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i')
                        AND d.classid = 'pg_class'::regclass
    JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
    UNION ALL
    SELECT 'publication', pubname,
           ARRAY[(SELECT string_agg(attname, ', ' ORDER BY attname) FROM pg_attribute a
                  WHERE a.attrelid = t.oid AND to_jsonb(r) -> 'prattrs' @> to_jsonb(a.attnum)),
                 CASE WHEN to_jsonb(r) ->> 'prqual' IS NOT NULL THEN 'filtered' END]
    FROM t JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid
    UNION ALL
    SELECT 'view', r.ev_class::regclass::text, ARRAY[pg_get_viewdef(r.ev_class)]
    FROM (SELECT DISTINCT d.objid FROM t JOIN pg_depend d
          ON d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid) AS d
    JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v'
) AS described (kind, name, parts)
ORDER BY kind, name, parts";

/// Lists the tables of tree `$1`, parents first: oid, parent, name, bound, and key.
pub(in crate::moving) const TREE: &str = "
SELECT c.oid, i.inhparent, c.relname::text, pg_get_expr(c.relpartbound, 0), pg_get_partkeydef(c.oid)
FROM pg_partition_tree($1::oid::regclass) t
JOIN pg_class c ON c.oid = t.relid
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
ORDER BY t.level, c.relname";

/// Returns, for each partition key in tree `$1`, whether it has an expression, and its columns. Names are
/// qualified, because the session has the user's search_path.
pub(in crate::moving) const KEYS: &str = "
SELECT 0 OPERATOR(pg_catalog.=) ANY (p.partattrs::pg_catalog.int2[]),
       ARRAY(SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute a
             WHERE a.attrelid OPERATOR(pg_catalog.=) p.partrelid
               AND a.attnum OPERATOR(pg_catalog.=) ANY (p.partattrs::pg_catalog.int2[]))
FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid::pg_catalog.regclass) t
JOIN pg_catalog.pg_partitioned_table p
    ON p.partrelid OPERATOR(pg_catalog.=) t.relid::pg_catalog.oid";
