-- pgbench_accounts in hash leaves, without an index or with its primary key, and the plain table with its rows.

\ir ../grid-small/accounts.sql
\ir source.sql
