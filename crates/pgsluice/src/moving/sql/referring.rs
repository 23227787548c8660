//! Foreign keys of other tables that refer to the table.

/// Returns the foreign keys that refer to table `$1`, or to a table that it is a partition of. The columns
/// are: the oid, the schema and the name of the other table; the name, the definition, whether it is valid,
/// and the comment; the number of leaves that it refers to now; the reason why it cannot refer to the new
/// table and the next step, or NULL; the number of leaves of the other table; and the schema and the name of
/// the table that it refers to. The rows are in the order of creation, because the server fires them in this
/// order. `$2` are the names of indexes whose key gets more columns. Must run under
/// [`crate::pg::sql::DEPARSE_SETTINGS`].
pub(in crate::moving) const REFERRING: &str = "
SELECT other, nspname::text, relname::text, conname::text, definition, convalidated, comment, leaves, why[1], why[2],
       parts, schema_::text, table_::text
FROM (
    SELECT con.conrelid AS other, c.nspname, c.relname, con.conname, pg_get_constraintdef(con.oid) AS definition, con.convalidated,
           obj_description(con.oid, 'pg_constraint') AS comment,
           (SELECT count(*) FROM pg_partition_tree(con.confrelid) WHERE isleaf) AS leaves,
           GREATEST(1, (SELECT count(*) FROM pg_partition_tree(con.conrelid) WHERE isleaf)) AS parts,
           con.oid AS nth, t.nspname AS schema_, t.relname AS table_,
           CASE
           WHEN con.confrelid = $1 AND c.is_partition THEN
               ARRAY[format('foreign key %I of table %s refers to the partition alone', con.conname, c.own), c.dropping]
           WHEN con.conrelid = $1 OR con.conrelid IN (SELECT relid FROM pg_partition_ancestors($1::regclass)) THEN
               ARRAY[format('its foreign key %I refers to the table itself', con.conname), c.dropping]
           WHEN x.relname = ANY ($2::text[]) THEN
               ARRAY[format('foreign key %I of table %s refers to %I, which gets another column', con.conname, c.own,
                            x.relname), c.dropping]
           WHEN to_jsonb(con) ->> 'conenforced' = 'false' THEN
               ARRAY[format('foreign key %I of table %s is not enforced', con.conname, c.own), c.dropping]
           -- A row that moves to another partition is deleted and inserted: execMain.c, ExecCrossPartitionUpdateForeignKey, 15.
           WHEN NOT c.is_partition AND current_setting('server_version_num')::int4 < 150000
                AND (con.confdeltype IN ('c', 'n', 'd') OR con.confupdtype IN ('c', 'n', 'd')) THEN
               ARRAY[format('foreign key %I of table %s would act on a row that moves to another partition as if it were deleted',
                            con.conname, c.own), c.dropping]
           WHEN c.relkind = 'p' AND current_setting('server_version_num')::int4 < 180000 THEN
               ARRAY[format('foreign key %I of partitioned table %s would be checked for all rows under the lock of the swap',
                            con.conname, c.own), c.dropping]
           WHEN NOT pg_has_role(c.relowner, 'USAGE') THEN
               ARRAY[format('this role does not own %s, whose foreign key %I refers to it', c.own, con.conname),
                     CASE WHEN pg_has_role(c.relowner, c.owner, 'USAGE') THEN format('Connect as %s.', c.relowner::regrole)
                          ELSE 'Let one role own both tables, or connect as a member of both owners.' END]
           WHEN NOT has_schema_privilege(c.relnamespace, 'USAGE') THEN
               ARRAY[format('role %s may not use schema %I, which has foreign key %I', current_user, c.nspname, con.conname),
                     format('GRANT USAGE ON SCHEMA %I TO %I;', c.nspname, current_user)]
           WHEN NOT has_table_privilege(con.confrelid, 'REFERENCES') THEN
               ARRAY[format('role %s may not refer to %s, as foreign key %I does', current_user, con.confrelid::regclass, con.conname),
                     format('GRANT REFERENCES ON %s TO %I;', con.confrelid::regclass, current_user)]
           WHEN d.enabling IS NOT NULL THEN
               ARRAY[format('triggers of foreign key %I of table %s are disabled', con.conname, c.own), d.enabling]
           END AS why
    FROM pg_constraint con
    JOIN pg_class x ON x.oid = con.conindid
    JOIN (SELECT r.oid, r.relname, n.nspname FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace) AS t
        ON t.oid = con.confrelid,
    LATERAL (
        SELECT nspname, relname, format('%I.%I', nspname, relname) AS own, relkind, relowner, relnamespace,
               (SELECT relowner FROM pg_class WHERE oid = $1) AS owner,
               (SELECT relispartition FROM pg_class WHERE oid = $1) AS is_partition,
               format('ALTER TABLE %I.%I DROP CONSTRAINT %I;', nspname, relname, con.conname) AS dropping
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = con.conrelid) AS c,
    LATERAL (
        SELECT string_agg(format('ALTER TABLE %s ENABLE TRIGGER %I;', g.tgrelid::regclass, g.tgname), ' ') AS enabling
        FROM pg_trigger g WHERE g.tgconstraint = con.oid AND g.tgenabled <> 'O') AS d
    WHERE con.contype = 'f' AND con.conparentid = 0
      AND (con.confrelid = $1 OR con.confrelid IN (SELECT relid FROM pg_partition_ancestors($1::regclass)))
) AS referring
ORDER BY nth";
