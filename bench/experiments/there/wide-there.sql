-- A share of the accounts is there, with a balance that none has in the input.

TRUNCATE accounts;
INSERT INTO accounts
SELECT n, (n - 1) / 100000 + 1, -1, ''
FROM generate_series(1, :rows) AS n
WHERE n % 100 < :share;
