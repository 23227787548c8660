-- A shadow of each function, operator, type and relation of pg_catalog: whoever calls one is recorded
-- and refused. What cannot be shadowed is left out.
SET search_path = pg_catalog;
SET check_function_bodies = off;
CREATE SCHEMA evil;
-- Not taken back with the transaction that calls.
CREATE SEQUENCE evil.calls;
CREATE SEQUENCE evil.which;
CREATE TABLE evil.shadow (number int PRIMARY KEY, what text NOT NULL);

CREATE FUNCTION evil.called(number int) RETURNS bool LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    PERFORM setval('evil.which', number), nextval('evil.calls');
    RAISE EXCEPTION 'shadow called: %', (SELECT what FROM evil.shadow s WHERE s.number = called.number);
END $$;

DO $do$
DECLARE
    thing record;
    n int := 0;
    body CONSTANT text := 'LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.called(@number@); END $$';
BEGIN
    FOR thing IN
        -- Those that are variadic take arrays of one type.
        WITH argument AS (
            SELECT p.oid, place, COALESCE(p.proargmodes[place], CASE WHEN p.provariadic <> 0
                       AND place = p.pronargs THEN 'v' ELSE 'i' END::"char") AS mode,
                   p.proargnames[place] AS name, ty
            FROM pg_proc p, unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS a (ty, place)
        ), arguments AS (
            SELECT oid, string_agg(concat_ws(' ',
                       CASE mode WHEN 'v' THEN 'VARIADIC' WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 't' THEN 'OUT' END,
                       quote_ident(NULLIF(name, '')),
                       CASE WHEN ty <> '"any"'::regtype THEN format_type(ty, -1)
                            WHEN mode = 'v' THEN 'anyarray' ELSE 'anyelement' END), ', ' ORDER BY place) AS list
            FROM argument GROUP BY oid
        )
        SELECT 'function ' || p.oid::regprocedure AS what,
               format('CREATE FUNCTION evil.%I(%s) RETURNS %s%s ', p.proname, a.list,
                      CASE WHEN p.proretset THEN 'SETOF ' END,
                      CASE p.prorettype WHEN '"any"'::regtype THEN 'anyelement' ELSE format_type(p.prorettype, -1) END) || body AS made
        FROM pg_proc p LEFT JOIN arguments a ON a.oid = p.oid
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND (p.proname <> 'count' OR p.pronargs > 0)
          AND NOT ARRAY['internal', 'cstring', 'trigger', 'event_trigger']::regtype[]::oid[]
                  && (p.proargtypes::oid[] || p.prorettype)
        UNION ALL
        SELECT 'operator ' || o.oid::regoperator,
               format('CREATE FUNCTION evil.operator_%s(%s) RETURNS %s ', o.oid,
                      concat_ws(', ', CASE WHEN oprleft <> 0 THEN format_type(oprleft, -1) END,
                                CASE WHEN oprright <> 0 THEN format_type(oprright, -1) END),
                      format_type(oprresult, -1)) || body ||
               format('; CREATE OPERATOR evil.%s (%s)', oprname,
                      concat_ws(', ', format('FUNCTION = evil.operator_%s', o.oid),
                                CASE WHEN oprleft <> 0 THEN 'LEFTARG = ' || format_type(oprleft, -1) END,
                                CASE WHEN oprright <> 0 THEN 'RIGHTARG = ' || format_type(oprright, -1) END))
        FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace
        UNION ALL
        SELECT 'type ' || format_type(t.oid, -1),
               format('CREATE DOMAIN evil.%I AS pg_catalog.%1$I CHECK (evil.called(@number@))', typname)
        FROM pg_type t
        WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm') AND typcategory <> 'A'
        UNION ALL
        SELECT 'relation ' || relname,
               format('CREATE VIEW evil.%I AS SELECT * FROM pg_catalog.%1$I WHERE evil.called(@number@)', relname)
        FROM pg_class
        WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
    LOOP
        BEGIN
            n := n + 1;
            EXECUTE replace(thing.made, '@number@', n::text);
            INSERT INTO evil.shadow VALUES (n, thing.what);
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END $do$;

INSERT INTO evil.shadow VALUES (0, 'count(*)');
CREATE FUNCTION evil.add(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.called(0); END $$;
CREATE AGGREGATE evil.count(*) (SFUNC = evil.add, STYPE = bigint);
RESET search_path;
RESET check_function_bodies;
