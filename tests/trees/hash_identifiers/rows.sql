SELECT (i * 2147483::bigint % 4294967296)::oid, '0/0'::pg_lsn + i::numeric * 92233720368547758,
       repeat('n', i % 63)::name, chr(32 + i % 95)::"char" FROM generate_series(1, 190) i
UNION ALL VALUES (NULL::oid, NULL::pg_lsn, NULL::name, NULL::"char"), (4294967295, 'FFFFFFFF/FFFFFFFF', '', '')
