-- Of a hundred ids so many are there already, put there in the order of the key.

INSERT INTO t
SELECT id
FROM (SELECT md5(n::text)::uuid AS id FROM generate_series(1, :ids) AS n WHERE n % 100 < :share) AS there
ORDER BY id;
