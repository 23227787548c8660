CREATE TYPE mood AS ENUM ('sad', 'ok', 'Happy');
CREATE TABLE t (k mood, n int) PARTITION BY LIST (k);
CREATE TABLE t_sad PARTITION OF t FOR VALUES IN ('sad', NULL);
CREATE TABLE t_good PARTITION OF t FOR VALUES IN ('ok', 'Happy');
