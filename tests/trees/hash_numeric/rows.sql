SELECT k, round(k % 1000000, 2) FROM (
  SELECT ((i * 7919) % 1000003 - 500000) * 10::numeric ^ (i % 60 - 30) AS k FROM generate_series(1, 2000) i
  UNION ALL VALUES (0), (NULL), (0.000), (1.10), (1.1), (-1.1000), ('NaN'), (10000), (100000000), (0.0001)
) v
