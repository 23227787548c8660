SELECT (date '2023-01-01' + n)::text AS day, n AS id,
       (time '00:00' + n * interval '7919.0371 seconds')::text AS at
FROM generate_series(1, 500) AS n
UNION ALL
VALUES (NULL, 1001, '00:00'),
       ('2024-02-01', 1002, NULL),
       ('2024-02-01', 1003, '24:00'),
       ('infinity', 1004, '00:00'),
       ('2024-02-01', 1006, '01:00 PM')
