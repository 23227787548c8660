-- Random uuids in 16 hash partitions, with their primary key.

CREATE TABLE t (id uuid PRIMARY KEY) PARTITION BY HASH (id);

SELECT format(
    'CREATE TABLE t_%s PARTITION OF t FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
    lpad(part::text, 2, '0'), part)
FROM generate_series(0, 15) AS part
\gexec
