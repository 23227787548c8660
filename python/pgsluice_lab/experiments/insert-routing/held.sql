-- The rows of the input, each with another value.

SET synchronous_commit = off;
INSERT INTO held SELECT b, b % :most + 1, 0 FROM generate_series(1, :changes) AS b;
ANALYZE held;
