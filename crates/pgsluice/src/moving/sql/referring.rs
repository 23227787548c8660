//! Foreign keys of other tables that refer to the table.

/// Returns the foreign keys that refer to table `$1`, or to one that it is a partition of: the oid, the schema
/// and the name of the other table, the name, the definition, whether it is valid, the comment, and the number of leaves
/// that it refers to now; then the reason why it cannot refer to the new table, and the next step, or NULL. `$2` are the names of indexes whose key gets more columns. To be run under
/// [`crate::pg::sql::DEPARSE_SETTINGS`].
pub(in crate::moving) const REFERRING: &str = "
SELECT other, nspname::text, relname::text, conname::text, definition, convalidated, comment, leaves, why[1], why[2]
FROM (
    SELECT con.conrelid AS other, c.nspname, c.relname, con.conname, pg_get_constraintdef(con.oid) AS definition, con.convalidated,
           obj_description(con.oid, 'pg_constraint') AS comment,
           (SELECT count(*) FROM pg_partition_tree(con.confrelid) WHERE isleaf) AS leaves,
           CASE
           WHEN con.confrelid = $1 AND c.is_partition THEN
               ARRAY[format('foreign key %I of table %s refers to the partition alone', con.conname, c.own), c.dropping]
           WHEN con.conrelid = con.confrelid THEN
               ARRAY[format('its foreign key %I refers to the table itself', con.conname), c.dropping]
           WHEN x.relname = ANY ($2::text[]) THEN
               ARRAY[format('foreign key %I of table %s refers to %I, which gets another column', con.conname, c.own,
                            x.relname), c.dropping]
           WHEN to_jsonb(con) ->> 'conenforced' = 'false' THEN
               ARRAY[format('foreign key %I of table %s is not enforced', con.conname, c.own), c.dropping]
           WHEN c.relkind = 'p' AND current_setting('server_version_num')::int4 < 180000 THEN
               ARRAY[format('foreign key %I of partitioned table %s would be checked for all rows under the lock of the swap',
                            con.conname, c.own), c.dropping]
           WHEN NOT pg_has_role(c.relowner, 'USAGE') THEN
               ARRAY[format('this role does not own %s, whose foreign key %I refers to it', c.own, con.conname),
                     format('Connect as %s.', c.relowner::regrole)]
           WHEN EXISTS (SELECT FROM pg_trigger g WHERE g.tgconstraint = con.oid AND g.tgenabled <> 'O') THEN
               ARRAY[format('triggers of foreign key %I of table %s are disabled', con.conname, c.own),
                     format('ALTER TABLE %s ENABLE TRIGGER ALL;', c.own)]
           END AS why
    FROM pg_constraint con
    JOIN pg_class x ON x.oid = con.conindid,
    LATERAL (
        SELECT nspname, relname, format('%I.%I', nspname, relname) AS own, relkind, relowner,
               (SELECT relispartition FROM pg_class WHERE oid = $1) AS is_partition,
               format('ALTER TABLE %I.%I DROP CONSTRAINT %I;', nspname, relname, con.conname) AS dropping
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = con.conrelid) AS c
    WHERE con.contype = 'f' AND con.conparentid = 0
      AND (con.confrelid = $1 OR con.confrelid IN (SELECT relid FROM pg_partition_ancestors($1::regclass)))
) AS referring
ORDER BY nspname, relname, conname";
