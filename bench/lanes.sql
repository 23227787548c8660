-- pgbench_accounts without its index, in hash leaves by a key that is a column or an expression.

CREATE TABLE :"table" (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY HASH (:key);

SELECT format(
    'CREATE TABLE %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS %3$s, REMAINDER %4$s)',
    :'table' || '_' || remainder, :'table', :leaves, remainder)
FROM generate_series(0, :leaves - 1) AS remainder
\gexec
