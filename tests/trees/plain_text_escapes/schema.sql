CREATE TABLE t (id int, a text, b text);
