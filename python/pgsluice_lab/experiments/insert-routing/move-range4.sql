-- The same with hash partitions below each range.

SET synchronous_commit = off;

CREATE TABLE moving (k integer PRIMARY KEY, v integer) PARTITION BY RANGE (k);

SELECT format(
    'CREATE TABLE moving_%1$s PARTITION OF moving FOR VALUES FROM (%2$s) TO (%3$s)'
    ' PARTITION BY HASH (k)',
    part, (part - 1) * size + 1, part * size + 1)
FROM generate_series(1, :partitions) AS part,
    (SELECT (2 * :keys + :partitions - 1) / :partitions) AS share (size)
ORDER BY part
\gexec

SELECT format(
    'CREATE TABLE moving_%1$s_%3$s PARTITION OF moving_%1$s'
    ' FOR VALUES WITH (MODULUS %2$s, REMAINDER %3$s)',
    part, :subpartitions, below)
FROM generate_series(1, :partitions) AS part,
    generate_series(0, :subpartitions - 1) AS below
ORDER BY part, below
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
