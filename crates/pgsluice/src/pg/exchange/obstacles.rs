//! Obstacles to an exchange: properties that the new table cannot have, or objects that would be lost with
//! the leaf.
//!
//! Each obstacle is a row with the leaf's index and the reason. Anything that depends on a leaf without being
//! a part of it is an obstacle, unless it is known to be carried over.

/// Query for the obstacles. `$1` are the leaves, `$2` the columns of the input, and `$3` whether rows are
/// replaced. It must run under [`crate::pg::sql::DEPARSE_SETTINGS`].
pub(super) const OBSTACLES: &str = "
WITH RECURSIVE leaf AS (
    SELECT o.place, c.*, i.inhparent, n.nspname
    FROM unnest($1::oid[]) WITH ORDINALITY AS o (leaf, place)
    JOIN pg_class c ON c.oid = o.leaf
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_inherits i ON i.inhrelid = c.oid
),
trigger_ AS (
    SELECT l.place, g.*, con.conname, con.contype
    FROM leaf l
    JOIN pg_trigger g ON g.tgrelid = l.oid
    LEFT JOIN pg_constraint con ON con.oid = g.tgconstraint AND con.contype <> 't'
),
-- All that goes with the leaf when it is dropped, and what that would be refused for.
gone (place, leaf, classid, objid, deptype) AS (
    SELECT place, oid, 'pg_class'::regclass::oid, oid, 'a'::\"char\" FROM leaf
    UNION
    SELECT g.place, g.leaf, d.classid, d.objid, d.deptype
    FROM gone g
    JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid
    WHERE g.deptype <> 'n'
),
other AS (
    SELECT g.place, pg_describe_object(g.classid, g.objid, 0) AS what
    FROM gone g
    LEFT JOIN pg_class c ON g.classid = 'pg_class'::regclass AND c.oid = g.objid
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_type t ON g.classid = 'pg_type'::regclass AND t.oid = g.objid
    LEFT JOIN pg_type row_ ON row_.oid = t.typelem
    LEFT JOIN pg_constraint con ON g.classid = 'pg_constraint'::regclass AND con.oid = g.objid
    LEFT JOIN pg_trigger trg ON g.classid = 'pg_trigger'::regclass AND trg.oid = g.objid
    LEFT JOIN pg_attrdef def ON g.classid = 'pg_attrdef'::regclass AND def.oid = g.objid
    LEFT JOIN pg_statistic_ext s ON g.classid = 'pg_statistic_ext'::regclass AND s.oid = g.objid
    -- The triggers of a foreign key are on both of its tables.
    WHERE (g.leaf IN (c.oid, i.indrelid, t.typrelid, row_.typrelid, con.conrelid, trg.tgrelid,
                      def.adrelid, s.stxrelid)
           OR 'pg_toast'::regnamespace IN (c.relnamespace, t.typnamespace) OR (trg.tgisinternal AND g.deptype = 'i')) IS NOT TRUE
)
SELECT place::int4, why FROM (
    SELECT place, 'this user does not own it' AS why FROM leaf WHERE NOT pg_has_role(relowner, 'USAGE')
    UNION ALL
    SELECT l.place, format('this user does not own %s, its parent', inhparent::regclass)
    FROM leaf l JOIN pg_class p ON p.oid = inhparent WHERE NOT pg_has_role(p.relowner, 'USAGE')
    UNION ALL
    SELECT place, format('%s may not create tables in schema %I', role, nspname)
    FROM leaf, LATERAL (VALUES (relowner::regrole), (current_user::regrole)) AS r (role)
    WHERE NOT has_schema_privilege(role, relnamespace, 'CREATE')
    UNION ALL
    SELECT place, format('it has the rule %I', rulename)
    FROM leaf l JOIN pg_rewrite r ON r.ev_class = l.oid
    UNION ALL
    SELECT place, 'it has row security' FROM leaf WHERE relrowsecurity OR relforcerowsecurity
    UNION ALL
    SELECT place, format('it has the policy %I', polname)
    FROM leaf l JOIN pg_policy p ON p.polrelid = l.oid
    UNION ALL
    SELECT place, format('it has a security label of %s', provider)
    FROM leaf l JOIN pg_seclabel s
      ON (s.objoid = l.oid AND s.classoid = 'pg_class'::regclass)
      OR (s.objoid = l.reltype AND s.classoid = 'pg_type'::regclass)
    UNION ALL
    SELECT g.place, format('%s depends on %s', pg_describe_object(g.classid, g.objid, 0),
                           pg_describe_object(d.refclassid, d.refobjid, 0))
    FROM gone g JOIN pg_depend d USING (classid, objid) WHERE d.deptype IN ('e', 'x') AND g.deptype <> 'n'
    UNION ALL
    SELECT place, format('the foreign key %I of %s refers to it', conname, conrelid::regclass)
    FROM leaf l JOIN pg_constraint con ON con.confrelid = l.oid AND con.contype = 'f'
    UNION ALL
    SELECT place, format('its foreign key %I refers to the table that is loaded', conname)
    FROM leaf l JOIN pg_constraint con ON con.conrelid = l.oid AND con.contype = 'f'
    WHERE pg_partition_root(con.confrelid) = pg_partition_root(l.oid)
    UNION ALL
    SELECT place, format('its row-level trigger %I would not fire', tgname)
    FROM trigger_ WHERE contype IS NULL AND tgenabled <> 'D' AND tgtype & 1 = 1
        -- INSERT, or DELETE.
        AND (tgtype & 4 = 4 OR $3 AND tgtype & 8 = 8)
    UNION ALL
    SELECT place, format('its TRUNCATE trigger %I would not fire', tgname)
    FROM trigger_ WHERE contype IS NULL AND tgenabled <> 'D' AND tgtype & 32 = 32 AND $3
    UNION ALL
    SELECT place, format('a trigger of its constraint %I is not in its default state', conname)
    FROM trigger_ WHERE contype IS NOT NULL AND tgenabled <> 'O'
    UNION ALL
    SELECT place, format('the publication %I publishes it, and would not publish the rows', pubname)
    FROM (SELECT pubname, pg_catalog.to_regclass(format('%I.%I', schemaname, tablename))::oid AS published
          FROM pg_publication_tables) AS p
    JOIN leaf l ON published IN (SELECT pg_partition_ancestors(l.oid)::oid)
    UNION ALL
    SELECT place, 'a subscription writes to it'
    FROM leaf l JOIN pg_subscription_rel s ON s.srrelid = l.oid
    UNION ALL
    SELECT place, format('its index %I is not valid', c.relname)
    FROM leaf l JOIN pg_index i ON i.indrelid = l.oid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid
    UNION ALL
    SELECT place, format('it lacks the index %I of its parent', c.relname)
    FROM leaf l JOIN pg_index above ON above.indrelid = l.inhparent
    JOIN pg_class c ON c.oid = above.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_index own ON own.indexrelid = i.inhrelid
                      WHERE i.inhparent = above.indexrelid AND own.indrelid = l.oid)
    UNION ALL
    -- ATTACH takes either for the other.
    SELECT l.place, format('its indexes %I and %I are identical', c.relname, d.relname)
    FROM leaf l
    JOIN pg_index i ON i.indrelid = l.oid JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_index j ON j.indrelid = l.oid JOIN pg_class d ON d.oid = j.indexrelid
    WHERE i.indexrelid < j.indexrelid AND (c.relispartition OR d.relispartition)
      AND (c.relam, i.indisunique, i.indnkeyatts, i.indkey::text, i.indcollation::text)
        = (d.relam, j.indisunique, j.indnkeyatts, j.indkey::text, j.indcollation::text)
      AND (pg_get_expr(i.indexprs, l.oid), pg_get_expr(i.indpred, l.oid))
          IS NOT DISTINCT FROM (pg_get_expr(j.indexprs, l.oid), pg_get_expr(j.indpred, l.oid))
    UNION ALL
    SELECT l.place, format('its foreign keys %I and %I are identical', a.conname, b.conname)
    FROM leaf l
    JOIN pg_constraint a ON a.conrelid = l.oid AND a.contype = 'f'
    JOIN pg_constraint b ON b.conrelid = l.oid AND b.contype = 'f'
    WHERE a.oid < b.oid AND (a.conkey, a.confkey, a.confrelid) = (b.conkey, b.confkey, b.confrelid)
    UNION ALL
    SELECT place, format('the index of its constraint %I has its own options', conname)
    FROM leaf l JOIN pg_constraint con ON con.conrelid = l.oid JOIN pg_class c ON c.oid = conindid
    WHERE c.reloptions IS NOT NULL
      AND (con.contype = 'x' OR to_jsonb(con) ->> 'conperiod' = 'true' AND con.contype IN ('p', 'u'))
    UNION ALL
    SELECT place, format('privileges on it were granted by %s', grantor::regrole)
    FROM (SELECT place, relowner, grantor FROM leaf, aclexplode(relacl)
          UNION ALL
          SELECT place, relowner, grantor
          FROM leaf l JOIN pg_attribute a ON a.attrelid = l.oid, aclexplode(attacl)) AS granted
    WHERE grantor <> relowner
    UNION ALL
    SELECT place, format('the input leaves out its identity column %I', attname)
    FROM leaf l JOIN pg_attribute a ON a.attrelid = l.oid
    WHERE attidentity <> '' AND NOT attname = ANY ($2::text[])
    UNION ALL
    SELECT place, format('%s depends on it', what) FROM other
) AS obstacle
ORDER BY place, why";
