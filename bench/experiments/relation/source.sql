-- pgbench_accounts as a plain table, as `pgbench -i` fills it: the rows of the text that the leaves are compared with.

CREATE TABLE accounts_old (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
);

INSERT INTO accounts_old
SELECT n, (n - 1) / 100000 + 1, 0, ''
FROM generate_series(1, round(:scale * 5000000)::integer) AS n;

VACUUM (FREEZE, ANALYZE) accounts_old;
