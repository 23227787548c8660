SELECT (i * 2147483::bigint % 4294967296)::oid,
       (to_hex(i * 22605091::bigint) || '/' || to_hex(i * 987654321::bigint % 4294967296))::pg_lsn,
       repeat('n', i % 63)::name, chr(32 + i % 95)::"char" FROM generate_series(1, 190) i
UNION ALL VALUES (NULL::oid, NULL::pg_lsn, NULL::name, NULL::"char"), (4294967295, 'FFFFFFFF/FFFFFFFF', '', '')
