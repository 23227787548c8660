-- pgbench_accounts as one plain table.

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84),
    PRIMARY KEY (aid)
);
