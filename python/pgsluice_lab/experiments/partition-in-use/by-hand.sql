-- A move by hand: no other session can write to the table until its rows are in the new one.

BEGIN;
LOCK TABLE accounts IN SHARE MODE;

CREATE TABLE accounts_new (LIKE accounts) PARTITION BY HASH (aid);

SELECT format(
    'CREATE TABLE accounts_%1$s PARTITION OF accounts_new FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)',
    part, :partitions)
FROM generate_series(0, :partitions - 1) AS part
ORDER BY part
\gexec

INSERT INTO accounts_new SELECT * FROM accounts;
ALTER TABLE accounts_new ADD PRIMARY KEY (aid);

ALTER TABLE accounts RENAME TO accounts_old;
ALTER TABLE accounts_new RENAME TO accounts;
COMMIT;

ANALYZE accounts;
