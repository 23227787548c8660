-- What is there before a load: other ids, put there in the order of the key.

INSERT INTO uuids
SELECT id FROM (SELECT md5(number::text)::uuid AS id FROM generate_series(1, :before) AS number) AS ids
ORDER BY id;
