-- pgbench_accounts without its index, in hash leaves by a key that is a column or an expression.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (:key);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts'
    ' FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)', remainder, :leaves)
FROM generate_series(0, :leaves - 1) AS remainder
\gexec
