SELECT (i % 5) * interval '1 year' + (i % 13) * interval '1 mon' + (i % 37) * interval '1 day' + i * interval '1.25 s', i * interval '10 ms' FROM generate_series(1, 300) i
UNION ALL VALUES ('1 mon'::interval, '-00:00:01.25'::interval), ('30 days', '-3 days'), ('720:00', '-1 mon'), (NULL, NULL), ('5000000 years', '9999999:00')
