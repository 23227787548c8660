CREATE TYPE "@side@".odd AS ENUM ('a', 'b');
CREATE FUNCTION "@side@".odd(text) RETURNS "@side@".odd LANGUAGE sql IMMUTABLE AS 'SELECT CASE $1 WHEN ''a'' THEN ''b''::"@side@".odd ELSE ''a''::"@side@".odd END';
CREATE CAST (text AS "@side@".odd) WITH FUNCTION "@side@".odd(text);
CREATE TABLE t (k varchar(5), o "@side@".odd, c "char", n name) PARTITION BY LIST ((k || c::text || n::text));
CREATE TABLE t_x PARTITION OF t FOR VALUES IN ('xxx') PARTITION BY LIST ((CASE WHEN o = 'a' THEN 1 ELSE 0 END));
CREATE TABLE t_x_a PARTITION OF t_x FOR VALUES IN (1);
CREATE TABLE t_x_rest PARTITION OF t_x DEFAULT;
CREATE TABLE t_rest PARTITION OF t DEFAULT;
