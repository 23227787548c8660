-- What fits better than that of pg_catalog, though this is looked at first: arguments of just the type where
-- pg_catalog has a polymorphic one, or one that they must be converted to.
CREATE SCHEMA evil;
-- Not taken back with the transaction that calls.
CREATE SEQUENCE evil.calls;
CREATE SEQUENCE evil.which;
CREATE TABLE evil.shadow (number serial PRIMARY KEY, what text, name text, arguments text[]);

CREATE FUNCTION evil.called(number int) RETURNS bool LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM setval('evil.which', number), nextval('evil.calls');
    RAISE EXCEPTION 'shadow called: %', (SELECT what FROM evil.shadow s WHERE s.number = called.number);
END $$;

WITH type (ty) AS (
    SELECT unnest(ARRAY['oid', 'text', 'name', 'int2', 'int4', 'int8', 'bool', 'numeric', '"char"', 'regclass',
                        'regtype', 'regproc', 'regnamespace', 'regrole', 'tid', 'varchar', 'date', 'jsonb'])
), operator (op) AS (
    SELECT unnest(ARRAY['=', '<>', '<', '>', '<=', '>=', '||', '-', '+', '*', '/', '~'])
)
INSERT INTO evil.shadow (name, arguments)
SELECT op, ARRAY[l.ty || array_l, r.ty || array_r]
FROM operator, type l, type r, (VALUES ('', ''), ('[]', '[]'), ('[]', ''), ('', '[]')) AS a (array_l, array_r)
WHERE array_l = array_r AND (array_l = '' OR l.ty = r.ty) OR array_l <> array_r AND op = '||' AND l.ty = r.ty
UNION ALL
SELECT name, ARRAY[ty || array_]
FROM type, (VALUES ('unnest', '[]'), ('array_agg', ''), ('count', ''), ('min', ''), ('max', ''), ('min', '[]'),
                   ('max', '[]'), ('sum', ''), ('cardinality', '[]'), ('to_jsonb', ''), ('quote_nullable', ''),
                   ('quote_ident', ''), ('lower', ''), ('upper', ''), ('md5', ''), ('abs', ''), ('floor', ''),
                   ('date_trunc', ''), ('isfinite', ''), ('jsonb_build_array', ''), ('hashtextextended', ''),
                   ('pg_total_relation_size', ''), ('pg_partition_ancestors', ''), ('pg_partition_tree', ''),
                   ('pg_get_partition_constraintdef', ''), ('pg_get_partkeydef', ''), ('to_regclass', ''),
                   ('row_security_active', ''), ('current_setting', '')) AS f (name, array_)
UNION ALL
SELECT name, ARRAY[l.ty, r.ty || array_]
FROM type l, type r, (VALUES ('width_bucket', '[]'), ('format', ''), ('concat', ''), ('pg_get_expr', ''),
                             ('format_type', ''), ('has_table_privilege', ''), ('string_agg', '')) AS f (name, array_)
UNION ALL
SELECT 'satisfies_hash_partition', ARRAY['oid', 'int', 'int', ty] FROM type
UNION ALL
SELECT 'satisfies_hash_partition', ARRAY['oid', 'int', 'int', 'text', 'oidvector'];
UPDATE evil.shadow SET what = format('%s(%s)', name, array_to_string(arguments, ', '));

SET check_function_bodies = off;
DO $do$
DECLARE
    thing record;
BEGIN
    FOR thing IN SELECT number, name, array_to_string(arguments, ', ') AS list, arguments[1] AS l, arguments[2] AS r,
                        CASE WHEN name ~ '^[a-z]' THEN 'public.' || name ELSE 'evil.operator_' || number END AS function
                 FROM evil.shadow LOOP
        EXECUTE format('CREATE FUNCTION %s(%s) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.called(%s); END $$',
                       thing.function, thing.list, thing.number);
        IF thing.name !~ '^[a-z]' THEN
            EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = %s, LEFTARG = %s, RIGHTARG = %s)',
                           thing.name, thing.function, thing.l, thing.r);
        END IF;
    END LOOP;
END $do$;
RESET check_function_bodies;
