-- Both sides have the same type, and with it the same oids.
DO $$ BEGIN
  CREATE TYPE public.planet AS ENUM ('p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9', 'p10', 'p11', 'p12', 'p13', 'p14', 'p15', 'p16', 'p17', 'p18', 'p19');
  ALTER TYPE public.planet ADD VALUE 'first' BEFORE 'p0';
  ALTER TYPE public.planet ADD VALUE 'It''s "it"' AFTER 'p7';
EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE TABLE t (k public.planet, n int) PARTITION BY HASH (k);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 5, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 5, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 5, REMAINDER 2);
CREATE TABLE t_3 PARTITION OF t FOR VALUES WITH (MODULUS 5, REMAINDER 3);
CREATE TABLE t_4 PARTITION OF t FOR VALUES WITH (MODULUS 5, REMAINDER 4);
