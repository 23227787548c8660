-- No id is there.

TRUNCATE ids;
