-- The steps of a move by hand: a tree without an index, its rows, and then its primary key.

BEGIN;
\ir ../experiments/grid-small/accounts.sql
COMMIT;
INSERT INTO accounts SELECT * FROM :plain;
ALTER TABLE accounts ADD PRIMARY KEY (aid);
ANALYZE accounts;
