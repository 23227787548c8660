CREATE TABLE t (k int, note text);
CREATE TABLE child (CHECK (k = 1)) INHERITS (t);
CREATE TABLE grandchild (late text) INHERITS (child);
