-- The same in range partitions, so that an update of the key moves a row to another one.

SET synchronous_commit = off;

CREATE TABLE moving (k integer PRIMARY KEY, v integer) PARTITION BY RANGE (k);

SELECT format(
    'CREATE TABLE moving_%1$s PARTITION OF moving FOR VALUES FROM (%2$s) TO (%3$s)',
    part, (part - 1) * size + 1, part * size + 1)
FROM generate_series(1, :partitions) AS part,
    (SELECT (2 * :keys + :partitions - 1) / :partitions) AS share (size)
ORDER BY part
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
