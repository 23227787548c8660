SELECT to_json(i / 4.0)::text, 1 FROM generate_series(1, 500) i
UNION ALL SELECT format('{"name": "n%s", "b": [%s, null, {"x": %s}], "aé": %s, "b": [true, "%s", {}]}', i, i, i, (i % 2 = 0)::text, i), 2 FROM generate_series(1, 500) i
UNION ALL SELECT format('[%s, [%s, []], "\u00e9\n%s"]', i, -i, repeat('x', i % 100)), 3 FROM generate_series(1, 500) i
UNION ALL VALUES ('[]', 4), ('{}', 4), ('[[]]', 4), ('null', 4), ('true', 4), ('false', 4), ('0', 4), ('-0.00', 4), ('1e2', 4), ('100.0', 4),
  ('""', 4), ('[null]', 4), ('{"":null}', 4), (NULL, 4), ('"\ud83d\ude00 \/"', 4)
