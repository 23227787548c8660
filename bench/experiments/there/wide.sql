-- pgbench_accounts in 64 hash partitions, with its key.

CREATE TABLE accounts (
    aid      integer PRIMARY KEY,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts FOR VALUES WITH (MODULUS 64, REMAINDER %1$s)',
    remainder)
FROM generate_series(0, 63) AS remainder
\gexec
