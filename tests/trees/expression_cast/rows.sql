SELECT 'ä' || n AS code, (timestamp '2024-01-01' + n * interval '2 hours 3 seconds')::text AS at,
       (n - 150) / 20.0 AS n, n * 7919 - 1000000 AS k
FROM generate_series(1, 300) AS n
UNION ALL
VALUES ('x1', 'infinity', 1, 1),
       ('x2', '-infinity', 1, 1),
       (NULL, '2024-01-01', NULL, 1),
       ('x0', '2024-01-01 00:00:00 AD', 1, 1),
       ('5', 'Jan 5 2024', 1, -2147483648),
       ('9', '2024-01-01', 1e3, 7)
