-- pgbench_accounts as pgbench fills it: without its index.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) WITH (fillfactor = 100);
