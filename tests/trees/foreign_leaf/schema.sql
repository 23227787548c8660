CREATE EXTENSION IF NOT EXISTS postgres_fdw SCHEMA pg_catalog;
CREATE SERVER "@side@" FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '@host@', port '@port@', dbname '@database@');
CREATE USER MAPPING FOR CURRENT_USER SERVER "@side@" OPTIONS (user '@user@', password '@password@');
CREATE TABLE far (k int, note text);
CREATE TABLE t (k int, note text) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE FOREIGN TABLE t_2 PARTITION OF t FOR VALUES IN (2, NULL) SERVER "@side@" OPTIONS (schema_name '@side@', table_name 'far');
