-- Both sides have the same enum, and with it the same oids.
DO $$ BEGIN
  CREATE TYPE public.mood AS ENUM ('sad', 'ok', 'happy');
EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE DOMAIN "@side@".amounts AS numeric(8,2)[] CHECK (array_length(value, 1) < 9);
CREATE TABLE t (a int[], b text[], c "@side@".amounts, d timestamptz[], e public.mood[], f varchar(8)[], g char(5)[], h bytea[], i inet[], j bool[])
  PARTITION BY HASH (a, b, c, d, e, f, g, h, i, j);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE t_3 PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 3);
