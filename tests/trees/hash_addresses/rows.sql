SELECT '10.0.0.0'::inet + (i * 1048583::bigint % 4000000), set_masklen(('172.16.0.0'::inet + i * 65536)::cidr, 16 + i % 17),
       ('08002b' || lpad(to_hex(i * 7919), 6, '0'))::macaddr, ('08002b' || lpad(to_hex(i * 7919), 10, '0'))::macaddr8 FROM generate_series(1, 150) i
UNION ALL SELECT set_masklen('2001:db8::'::inet + i * 1099511627776, i % 129), set_masklen(('2001:db8::'::inet + (i::bigint << 40))::cidr, 48 + i % 20), NULL, NULL
FROM generate_series(1, 150) i
