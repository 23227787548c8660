CREATE SCHEMA "@side@ locked";
CREATE TABLE t (k int, note text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE "@side@ locked".t_2 PARTITION OF t FOR VALUES IN (2, NULL);
DO $$ BEGIN CREATE ROLE sluice_locked_out NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
GRANT USAGE ON SCHEMA "@side@" TO sluice_locked_out;
GRANT INSERT, SELECT ON t, t_1, "@side@ locked".t_2 TO sluice_locked_out;
