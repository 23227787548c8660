-- The table as published; its id comes from the sequence.

CREATE TABLE copytest (
    id SERIAL PRIMARY KEY NOT NULL,
    name VARCHAR(64),
    thread INT,
    block INT,
    num INT
);
