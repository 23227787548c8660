-- Ids in 16 hash partitions with a primary key.

CREATE TABLE t (id uuid PRIMARY KEY) PARTITION BY HASH (id);

SELECT format(
    'CREATE TABLE t_%s PARTITION OF t FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
    part, part - 1)
FROM generate_series(1, 16) AS part
\gexec
