//! Statements that exchange a DEFAULT partition for new partitions.

use pgsluice_core::catalog::Relation;

/// The constraint that tells the server, without reading the rows, that a new partition keeps its bound.
pub(in crate::moving) const BOUND: &str = "pgsluice_bound";

/// Returns the parent of partition `$1`: oid, schema, name, partition key, strategy, the column of the key if it is a
/// single one, the condition that all its rows meet, and whether `$1` is its DEFAULT partition.
pub(in crate::moving) const PARENT: &str = "
SELECT p.oid, n.nspname::text, p.relname::text, pg_get_partkeydef(p.oid), k.partstrat::text,
       (SELECT attname::text FROM pg_attribute WHERE attrelid = p.oid AND attnum = k.partattrs[0] AND k.partnatts = 1),
       pg_get_partition_constraintdef(p.oid), k.partdefid = $1
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_partitioned_table k ON k.partrelid = p.oid
JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE i.inhrelid = $1";

/// Returns the names and bounds of the partitions of table `$1`.
pub(in crate::moving) const SIBLINGS: &str = "
SELECT c.relname::text, pg_get_expr(c.relpartbound, 0)
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1 ORDER BY c.oid";

/// Returns the leaves of the partitioned table `$1` that do not have the constraint `$2`, qualified and
/// quoted, and the condition that the rows of each meet.
pub(in crate::moving) const CONDITIONS: &str = "
SELECT format('%I.%I', n.nspname, c.relname), pg_get_partition_constraintdef(c.oid)
FROM pg_partition_tree($1::text::regclass) t
JOIN pg_class c ON c.oid = t.relid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE t.isleaf AND NOT EXISTS (
    SELECT FROM pg_constraint con WHERE con.conrelid = c.oid AND con.conname = $2::text)";

/// Restricts a leaf to rows that meet these conditions.
pub(in crate::moving) fn add_bound(leaf: &str, conditions: &[&str]) -> String {
    format!("ALTER TABLE {leaf} ADD CONSTRAINT {BOUND} CHECK ({})", conditions.join(" AND "))
}

/// Detaches a partition from `parent`.
pub(in crate::moving) fn detach(parent: &Relation, partition: &Relation) -> String {
    format!("ALTER TABLE {parent} DETACH PARTITION {partition}")
}

/// Attaches a table as a partition to `parent`.
pub(in crate::moving) fn attach(parent: &Relation, partition: &Relation, bound: &str) -> String {
    format!("ALTER TABLE {parent} ATTACH PARTITION {partition} {bound}")
}

/// Drops the partitioned table from which the new partitions were detached.
pub(in crate::moving) fn drop_root(root: &Relation) -> String {
    format!("DROP TABLE {root}")
}
