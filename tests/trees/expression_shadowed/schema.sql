CREATE OR REPLACE FUNCTION public.lower(text) RETURNS text LANGUAGE sql IMMUTABLE
    AS 'SELECT pg_catalog.reverse($1)';
CREATE OR REPLACE FUNCTION public.minus(int, int) RETURNS int LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 OPERATOR(pg_catalog.-) $2';
DO $$ BEGIN
  CREATE OPERATOR public.% (LEFTARG = int, RIGHTARG = int, FUNCTION = public.minus);
EXCEPTION WHEN duplicate_function THEN NULL; END $$;
DO $$ BEGIN
  EXECUTE pg_catalog.format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
END $$;
CREATE TABLE t (code text COLLATE "C", a int, b int) PARTITION BY RANGE ((a OPERATOR(public.%) b), public.lower(code));
CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (MINVALUE, MINVALUE) TO (0, 'b');
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0, 'b') TO (2, 'b');
CREATE TABLE t_2 PARTITION OF t DEFAULT;
