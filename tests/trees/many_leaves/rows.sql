SELECT i, (i * 7919) % 3000, md5(i::text) FROM generate_series(1, 20000) i
