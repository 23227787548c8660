CREATE TABLE t (k int, note text, secret text DEFAULT 'none') PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2, NULL);
DO $$ BEGIN CREATE ROLE sluice_columns NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
GRANT USAGE ON SCHEMA "@side@" TO sluice_columns;
GRANT INSERT (k, note) ON t, t_1, t_2 TO sluice_columns;
