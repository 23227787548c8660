-- Rows by a key that is not partitioned, for updates of the key.

CREATE TABLE moving (k integer PRIMARY KEY, v integer);
