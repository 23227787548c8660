-- pgbench_accounts in range partitions with the bounds of `pgbench --partition-method=range`.

SET synchronous_commit = off;

CREATE TABLE accounts (
    aid      integer NOT NULL,
    bid      integer,
    abalance integer,
    filler   char(84)
) PARTITION BY RANGE (aid);

SELECT format(
    'CREATE TABLE accounts_%s PARTITION OF accounts FOR VALUES FROM (%s) TO (%s) WITH (fillfactor = 100)',
    part,
    CASE part WHEN 1 THEN 'MINVALUE' ELSE ((part - 1) * size + 1)::text END,
    CASE part WHEN :partitions THEN 'MAXVALUE' ELSE (part * size + 1)::text END)
FROM generate_series(1, :partitions) AS part,
    (SELECT (:rows::bigint + :partitions - 1) / :partitions) AS share (size)
ORDER BY part
\gexec
