-- pgbench_accounts in 16 hash partitions, with its key and a constraint that one row in 200 breaks.

CREATE TABLE accounts (
    aid      integer PRIMARY KEY,
    bid      integer,
    abalance integer CHECK (abalance >= 0),
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)',
    remainder)
FROM generate_series(0, 15) AS remainder
\gexec
