-- Ids of events in 16 list partitions by their first digit, each with an exclusion constraint by a hash index.

CREATE TABLE t (id uuid NOT NULL) PARTITION BY LIST (left(id::text, 1));

SELECT format(
    'CREATE TABLE t_%s PARTITION OF t (EXCLUDE USING hash (id WITH =)) FOR VALUES IN (%L)',
    lpad(part::text, 2, '0'), to_hex(part))
FROM generate_series(0, 15) AS part
\gexec
