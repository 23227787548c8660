-- pgbench_accounts as a plain table, with its primary key or without one, as `pgbench -i` fills it.

CREATE TABLE :name (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
);

INSERT INTO :name
SELECT n, (n - 1) / 100000 + 1, 0, ''
FROM generate_series(1, :rows) AS n;

\if :key
ALTER TABLE :name ADD PRIMARY KEY (aid);
\endif

VACUUM (FREEZE, ANALYZE) :name;
