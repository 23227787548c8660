-- The table without rows, where no COPY into the root says what is right.

TRUNCATE :table;
