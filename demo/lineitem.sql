-- TPC-H's lineitem in :schema: a partition for each month of shipment, each of four hash partitions.

SET client_min_messages = warning;
SET search_path = :"schema";

CREATE TABLE lineitem (
    l_orderkey      bigint         NOT NULL,
    l_partkey       bigint         NOT NULL,
    l_suppkey       bigint         NOT NULL,
    l_linenumber    integer        NOT NULL,
    l_quantity      decimal(15, 2) NOT NULL,
    l_extendedprice decimal(15, 2) NOT NULL,
    l_discount      decimal(15, 2) NOT NULL,
    l_tax           decimal(15, 2) NOT NULL,
    l_returnflag    char(1)        NOT NULL,
    l_linestatus    char(1)        NOT NULL,
    l_shipdate      date           NOT NULL,
    l_commitdate    date           NOT NULL,
    l_receiptdate   date           NOT NULL,
    l_shipinstruct  char(25)       NOT NULL,
    l_shipmode      char(10)       NOT NULL,
    l_comment       varchar(44)    NOT NULL
) PARTITION BY RANGE (l_shipdate);

SELECT format(
    'CREATE TABLE lineitem_%s PARTITION OF lineitem FOR VALUES FROM (%L) TO (%L)'
    ' PARTITION BY HASH (l_orderkey)',
    to_char(month, 'YYYY_MM'), month::date, (month + interval '1 month')::date)
FROM generate_series(timestamp '1992-01-01', '1998-12-01', '1 month') AS month
\gexec

SELECT format(
    'CREATE TABLE %1$s_%2$s PARTITION OF %1$s FOR VALUES WITH (MODULUS 4, REMAINDER %2$s)',
    relid, remainder)
FROM pg_partition_tree('lineitem'), generate_series(0, 3) AS remainder
WHERE level = 1
\gexec
