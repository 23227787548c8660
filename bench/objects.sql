-- Three columns of TPC-H's lineitem in :schema: a partition for each month of shipment, each of four hash partitions.

\ir ../demo/lineitem.sql

SELECT format('ALTER TABLE lineitem %s', string_agg(format('DROP COLUMN %I', attname), ', '))
FROM pg_attribute
WHERE attrelid = 'lineitem'::regclass AND attnum > 0 AND attname NOT IN ('l_orderkey', 'l_quantity', 'l_shipdate')
\gexec
