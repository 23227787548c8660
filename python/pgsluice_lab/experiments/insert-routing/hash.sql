-- Two numbers in hash partitions by the first.

SET synchronous_commit = off;

CREATE TABLE ht (b integer, a integer) PARTITION BY HASH (b);

SELECT format(
    'CREATE TABLE ht_%1$s PARTITION OF ht FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)',
    part, :partitions)
FROM generate_series(0, :partitions - 1) AS part
ORDER BY part
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
