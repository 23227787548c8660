SELECT i, repeat(chr(233) || ',"' || chr(10), CASE WHEN i % 20 = 0 THEN 210000 ELSE i END) FROM generate_series(1, 240) i
