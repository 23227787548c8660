SELECT n AS id, (timestamp '2023-12-01' + n * interval '6 hours 17.5 seconds')::text AS created
FROM generate_series(1, 400) AS n
UNION ALL
VALUES (1001, '2024-01-31 23:59:59.999999'),
       (1002, '2024-02-29'),
       (1003, 'infinity'),
       (1004, '-infinity'),
       (1005, NULL),
       (1006, '2024-02-29 24:00:00'),
       (1007, '2024-02-29 23:59:59.9999996'),
       (1008, '0044-03-15 BC'),
       (1009, 'Feb 3 2024')
