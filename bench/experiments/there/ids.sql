-- Ids of events in 16 hash partitions, with their primary key.

CREATE TABLE ids (id uuid PRIMARY KEY) PARTITION BY HASH (id);

SELECT format(
    'CREATE TABLE ids_%1$s PARTITION OF ids FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)',
    remainder)
FROM generate_series(0, 15) AS remainder
\gexec
