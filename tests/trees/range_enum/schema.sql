CREATE TYPE size AS ENUM ('small', 'medium', 'large');
ALTER TYPE size ADD VALUE 'big' BEFORE 'large';
ALTER TYPE size ADD VALUE 'tiny' BEFORE 'small';
CREATE TABLE t (k size, n int) PARTITION BY RANGE (k);
CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('medium');
CREATE TABLE t_high PARTITION OF t FOR VALUES FROM ('medium') TO ('large');
CREATE TABLE t_rest PARTITION OF t DEFAULT;
