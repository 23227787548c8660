SELECT '00:00'::time + i * interval '432.1 s', (time '00:00' + i * interval '401.7 s')::text || (ARRAY['+02', '-03:30', '+00', '-15:59:59'])[i % 4 + 1] FROM generate_series(1, 199) i
UNION ALL VALUES ('24:00'::time, '24:00+01'), (NULL, NULL)
