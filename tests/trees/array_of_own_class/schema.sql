CREATE TYPE "@side@".mood AS ENUM ('sad', 'ok', 'happy');
CREATE FUNCTION "@side@".backwards("@side@".mood, "@side@".mood) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT pg_catalog.enum_cmp($2, $1)';
CREATE OPERATOR CLASS "@side@".backwards DEFAULT FOR TYPE "@side@".mood USING btree AS FUNCTION 1 "@side@".backwards("@side@".mood, "@side@".mood);
CREATE TABLE t (k "@side@".mood[], n int) PARTITION BY RANGE (k);
CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('{ok}');
CREATE TABLE t_low PARTITION OF t FOR VALUES FROM ('{ok}') TO (MAXVALUE);
CREATE TABLE t_null PARTITION OF t DEFAULT;
