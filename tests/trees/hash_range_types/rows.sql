SELECT int4range(i, i + i % 5, brackets), int8range(i * -10000000000, i, brackets),
       numrange(i / 8.0, NULL, brackets), daterange('2024-01-01', date '2024-01-01' + i, brackets),
       tsrange(timestamp '2000-01-01' + i * interval '1.5 seconds', 'infinity', brackets),
       tstzrange('-infinity', timestamptz '2000-01-01 00:00+00' + i * interval '1 day', brackets)
FROM generate_series(1, 1000) i, LATERAL (SELECT (ARRAY['[]', '[)', '(]', '()'])[1 + i % 4]) b (brackets)
UNION ALL SELECT a::int4range, b::int8range, c::numrange, d::daterange, e::tsrange, f::tstzrange FROM (VALUES
  ('empty', NULL, NULL, NULL, NULL, NULL), (NULL, 'empty', NULL, NULL, NULL, NULL), (NULL, NULL, 'empty', NULL, NULL, NULL),
  (NULL, NULL, NULL, 'empty', 'empty', 'empty'), ('(,)', '(,)', '(,)', '(,)', '(,)', '(,)'), (NULL, NULL, NULL, NULL, NULL, NULL),
  ('(,5]', '[5,)', '[1.50,2.500]', '(,)', NULL, NULL), ('[1,2)', NULL, '(1.5,2.5)', NULL, NULL, NULL), (NULL, NULL, '[NaN,)', NULL, NULL, NULL)
) v (a, b, c, d, e, f)
