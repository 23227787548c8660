-- Two numbers, not partitioned.

CREATE TABLE ht (b integer, a integer);
