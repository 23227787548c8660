-- pgbench_accounts without its index, in hash partitions on two levels, four leaves in each.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts'
    ' FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s) PARTITION BY HASH (abalance)',
    remainder, :leaves / 4)
FROM generate_series(0, :leaves / 4 - 1) AS remainder
\gexec

SELECT format(
    'CREATE TABLE accounts_%1$s_%2$s PARTITION OF accounts_%1$s'
    ' FOR VALUES WITH (MODULUS 4, REMAINDER %2$s)', parent, remainder)
FROM generate_series(0, :leaves / 4 - 1) AS parent, generate_series(0, 3) AS remainder
\gexec

VACUUM ANALYZE pg_catalog.pg_class, pg_catalog.pg_inherits, pg_catalog.pg_attribute;
