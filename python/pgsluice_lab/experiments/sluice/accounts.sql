-- pgbench_accounts in hash partitions, without an index.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%s PARTITION OF accounts FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
    part, :partitions, part - 1)
FROM generate_series(1, :partitions) AS part
ORDER BY part
\gexec
