-- Fills a tree that exists.

INSERT INTO accounts SELECT * FROM :plain;
