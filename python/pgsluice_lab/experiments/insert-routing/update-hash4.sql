-- The same with hash partitions by the second number below each.

SET synchronous_commit = off;

CREATE TABLE held (b integer, a integer, v integer, PRIMARY KEY (b, a)) PARTITION BY HASH (b);

SELECT format(
    'CREATE TABLE held_%1$s PARTITION OF held FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)'
    ' PARTITION BY HASH (a)',
    part, :partitions)
FROM generate_series(0, :partitions - 1) AS part
ORDER BY part
\gexec

SELECT format(
    'CREATE TABLE held_%1$s_%3$s PARTITION OF held_%1$s FOR VALUES WITH (MODULUS %2$s, REMAINDER %3$s)',
    part, :subpartitions, below)
FROM generate_series(0, :partitions - 1) AS part,
    generate_series(0, :subpartitions - 1) AS below
ORDER BY part, below
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
