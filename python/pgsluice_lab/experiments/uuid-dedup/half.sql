-- Every other one of the ids is there already.

TRUNCATE t;
INSERT INTO t SELECT md5(n::text)::uuid FROM generate_series(1, :ids, 2) AS n;
