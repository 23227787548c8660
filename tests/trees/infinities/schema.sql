CREATE TABLE t (d date, t timestamp, z timestamptz) PARTITION BY RANGE (d, t, z);
CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM ('-infinity', '-infinity', '-infinity') TO ('2000-01-01', 'infinity', 'infinity');
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2000-01-01', 'infinity', 'infinity') TO ('infinity', '-infinity', '-infinity');
CREATE TABLE t_2 PARTITION OF t DEFAULT PARTITION BY HASH (d, t, z);
CREATE TABLE t_2_0 PARTITION OF t_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_2_1 PARTITION OF t_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
