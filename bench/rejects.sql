-- pgbench_accounts in 16 hash partitions, with its key and a constraint that one row in 200 breaks.

CREATE TABLE :"table" (
    aid      integer PRIMARY KEY,
    bid      integer,
    abalance integer CHECK (abalance >= 0),
    filler   char(84)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS 16, REMAINDER %3$s)',
    :'table' || '_' || remainder, :'table', remainder)
FROM generate_series(0, 15) AS remainder
\gexec
