-- pgbench_accounts, plain or in hash leaves, without an index or with its primary key.

SELECT :leaves > 0 AS partitioned, CASE :key WHEN 1 THEN 'PRIMARY KEY' ELSE 'NOT NULL' END AS key
\gset
\if :partitioned
\set by 'PARTITION BY HASH (aid)'
\else
\set by ''
\endif

CREATE TABLE accounts (
    aid      integer :key,
    bid      integer,
    abalance integer,
    filler   char(84)
) :by;

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts'
    ' FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)', remainder, :leaves)
FROM generate_series(0, :leaves - 1) AS remainder
\gexec
