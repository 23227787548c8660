-- The ids of events in 16 hash partitions, with their primary key.

CREATE TABLE uuids (id uuid PRIMARY KEY) PARTITION BY HASH (id);

SELECT format(
    'CREATE TABLE uuids_%1$s PARTITION OF uuids FOR VALUES WITH (MODULUS %2$s, REMAINDER %1$s)',
    remainder, :leaves)
FROM generate_series(0, :leaves - 1) AS remainder
\gexec
