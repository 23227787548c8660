CREATE TABLE t ("table" int, "from" int, "to" text, "default" date, "null" text, "user" int) PARTITION BY RANGE ("from", "user");
CREATE TABLE "select" PARTITION OF t FOR VALUES FROM (MINVALUE, MINVALUE) TO (1, 1);
CREATE TABLE "order" PARTITION OF t FOR VALUES FROM (1, 1) TO (MAXVALUE, MAXVALUE) PARTITION BY LIST ("to");
CREATE TABLE "default" PARTITION OF "order" DEFAULT;
CREATE TABLE "null" PARTITION OF "order" FOR VALUES IN (NULL);
