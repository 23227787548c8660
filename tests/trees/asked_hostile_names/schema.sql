CREATE FUNCTION "@side@".lower(int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''my '' || $1';
CREATE TABLE t (place text, f0 int, k0 text, input int, key int, given text, "literal ""x""" text)
  PARTITION BY LIST (("@side@".lower(f0 + input)));
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN ('my 2', 'my 3');
CREATE TABLE t_rest PARTITION OF t DEFAULT PARTITION BY HASH ((place || k0), (given || "literal ""x"""));
CREATE TABLE t_rest_0 PARTITION OF t_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_rest_1 PARTITION OF t_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
