\set aid random(:rows + 1, :rows + 100000)
DELETE FROM accounts WHERE aid = :aid;
