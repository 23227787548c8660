CREATE TABLE t (id bigint, k int, note text) PARTITION BY RANGE (k);
DO $$ BEGIN FOR i IN 0..299 LOOP
  EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10);
END LOOP; END $$;
