SELECT CASE WHEN i % 11 > 0 THEN ARRAY[i, -i, i % 7] END,
       ARRAY[repeat(chr(33 + i % 90), i % 80), NULL, 'a "b" \ {c,}', ''],
       ARRAY[i * 10, -i / 4.0, 0, NULL],
       ARRAY[timestamptz '2024-02-29 23:00:00+00' + i * interval '7 hours 1.5 seconds', 'infinity'],
       CASE i % 3 WHEN 0 THEN '{sad,NULL}' WHEN 1 THEN '{}' ELSE '{happy,ok,sad}' END::text[],
       ARRAY[left(i::text || 'äöü', 8), 'NULL'],
       ARRAY[(i % 100)::text, 'a', ' b'],
       ARRAY[decode(lpad(to_hex(i * 65536), 10, '0'), 'hex'), '\x00', ''],
       ARRAY['10.0.0.0'::inet + i, set_masklen('10.1.2.3', i % 33), 'fe80::1/64'],
       ARRAY[i % 2 = 0, NULL, i % 3 = 0]
FROM generate_series(1, 2000) i
UNION ALL SELECT '{}'::int[], '{}'::text[], '{}'::numeric[], '{}'::timestamptz[], '{}'::text[], '{}'::text[], '{}'::text[], '{}'::bytea[], '{}'::inet[], '{}'::bool[]
UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
UNION ALL SELECT ARRAY[n], ARRAY[n::text], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM unnest(ARRAY[NULL, 0, 1, 2147483647]) n
