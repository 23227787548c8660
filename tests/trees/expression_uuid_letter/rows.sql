SELECT md5(n::text)::uuid::text AS id, NULL AS note FROM generate_series(1, 2000) AS n
UNION ALL
VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'upper'),
       ('{b0eebc999c0b4ef8bb6d6bb9bd380a11}', 'braces'),
       ('F0EE-BC99-9C0B-4EF8-BB6D-6BB9-BD38-0A11', 'groups'),
       (NULL, 'null'),
       ('00000000-0000-0000-0000-000000000000', 'least'),
       ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'greatest')
