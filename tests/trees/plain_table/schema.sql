CREATE TABLE t (id int PRIMARY KEY, n numeric, f float8, at timestamptz, j jsonb, b bytea, a int[], note text);
