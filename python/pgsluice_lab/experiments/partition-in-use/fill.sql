-- The plain table with its rows, in place of what the last move has left.

SET synchronous_commit = off;
SET client_min_messages = warning;
DROP TABLE IF EXISTS accounts_new, accounts, accounts_old CASCADE;
\ir plain.sql
