-- Two numbers, which are the key, and a value that is updated; not partitioned.

CREATE TABLE held (b integer, a integer, v integer, PRIMARY KEY (b, a));
