-- The ledger keeps the loads before, but not that they had the same input: that of every day is a new one.

SELECT to_regclass('pgsluice.load') IS NOT NULL AS is_kept \gset
\if :is_kept
UPDATE pgsluice.load SET sources = '[{"other": true}]' WHERE NOT sources @> '[{"other": true}]';
\endif
