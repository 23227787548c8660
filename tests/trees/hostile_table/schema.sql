CREATE SCHEMA "@side@ ""S"".x";
CREATE TABLE "@side@ ""S"".x"."The ""table"".y" ("Order" int, note text) PARTITION BY HASH ("Order");
CREATE TABLE "@side@ ""S"".x"."t.0" PARTITION OF "@side@ ""S"".x"."The ""table"".y" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE "t.1" PARTITION OF "@side@ ""S"".x"."The ""table"".y" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
