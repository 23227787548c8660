-- The rows as they are before updates; each has a free place in another partition.

SET synchronous_commit = off;
INSERT INTO moving SELECT k, 0 FROM generate_series(1, :keys) AS k;
VACUUM ANALYZE moving;
