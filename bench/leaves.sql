-- pgbench_accounts without its index, in hash partitions on two levels: outer x 4 leaves.

SET synchronous_commit = off;

CREATE TABLE :"table" (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS %3$s, REMAINDER %4$s)'
    ' PARTITION BY HASH (abalance)', :'table' || '_' || remainder, :'table', :outer, remainder)
FROM generate_series(0, :outer - 1) AS remainder
\gexec

SELECT format(
    'CREATE TABLE %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS 4, REMAINDER %3$s)',
    parent || '_' || remainder, parent, remainder)
FROM (SELECT :'table' || '_' || generate_series(0, :outer - 1)) AS outer_level (parent),
    generate_series(0, 3) AS remainder
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
