-- The same in hash partitions by the first number.

SET synchronous_commit = off;

CREATE TABLE held (b integer, a integer, v integer, PRIMARY KEY (b, a)) PARTITION BY HASH (b);

SELECT format(
    'CREATE TABLE held_%1$s PARTITION OF held FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)',
    part, :partitions)
FROM generate_series(0, :partitions - 1) AS part
ORDER BY part
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
