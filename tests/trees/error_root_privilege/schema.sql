CREATE TABLE t (k int, note text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2, NULL);
DO $$ BEGIN CREATE ROLE sluice_rootless NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
GRANT USAGE ON SCHEMA "@side@" TO sluice_rootless;
GRANT SELECT ON t TO sluice_rootless;
GRANT INSERT, SELECT ON t_1, t_2 TO sluice_rootless;
