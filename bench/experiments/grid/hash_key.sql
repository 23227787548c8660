-- pgbench_accounts in hash leaves.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84),
    PRIMARY KEY (aid)
) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts'
    ' FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)', remainder, :leaves)
FROM generate_series(0, :leaves - 1) AS remainder
\gexec
