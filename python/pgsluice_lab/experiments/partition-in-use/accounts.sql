-- The table, which has its rows before each move only.

CREATE TABLE accounts (aid integer);
