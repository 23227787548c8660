\set aid random(:rows + 1, :rows + 100000)
INSERT INTO accounts VALUES (:aid, 1, 0, '') ON CONFLICT (aid) DO NOTHING;
