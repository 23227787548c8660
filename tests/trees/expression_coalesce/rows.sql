SELECT CASE WHEN n % 3 > 0 THEN (n - 50) * 1.5 END AS a,
       (CASE WHEN n % 2 > 0 THEN n / 7.0 END)::numeric(6,2) AS c, n AS id
FROM generate_series(1, 200) AS n
UNION ALL
VALUES (NULL, NULL, 1001), ('NaN', 1, 1002), (100.5, NULL, 1003), (NULL, 100.50, 1004)
