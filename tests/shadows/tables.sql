-- What is loaded while everything of pg_catalog has a shadow. The bodies of functions qualify their names,
-- because they run under the user's search_path, as under COPY.
CREATE FUNCTION public.half(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 OPERATOR(pg_catalog./) 2';
CREATE DOMAIN public.code AS int CHECK (public.half(VALUE) < 1000000);
CREATE DOMAIN public.on_day AS date CHECK (VALUE > '1900-01-01');
CREATE TYPE public.mood AS ENUM ('calm', 'angry', 'odd');
CREATE DOMAIN public.flags AS bit varying(8) CHECK (length(VALUE) < 9);

-- Native keys.
CREATE TABLE t (day date, id int, name text COLLATE "C", at timestamptz DEFAULT '2024-01-01',
                amount numeric(10,2) DEFAULT 1) PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01') PARTITION BY HASH (id);
CREATE TABLE t_1_0 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (name);
CREATE TABLE t_2_a PARTITION OF t_2 FOR VALUES IN ('a', 'it''s', NULL);
CREATE TABLE t_2_d PARTITION OF t_2 DEFAULT;

-- Keys that the server is asked about.
CREATE TABLE asked (id code, bits flags, label text, cash money, note varchar(20))
    PARTITION BY LIST ((half(id) % 4));
CREATE TABLE asked_0 PARTITION OF asked FOR VALUES IN (0) PARTITION BY RANGE (bits, label);
CREATE TABLE asked_00 PARTITION OF asked_0 FOR VALUES FROM (MINVALUE, MINVALUE) TO (B'01', 'm');
CREATE TABLE asked_01 PARTITION OF asked_0 FOR VALUES FROM (B'01', 'm') TO (MAXVALUE, MAXVALUE);
CREATE TABLE asked_1 PARTITION OF asked FOR VALUES IN (1) PARTITION BY HASH (md5(label), half(id));
CREATE TABLE asked_10 PARTITION OF asked_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE asked_11 PARTITION OF asked_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE asked_2 PARTITION OF asked FOR VALUES IN (2)
    PARTITION BY RANGE ((CASE WHEN id > 50 THEN label ELSE note END), cash);
CREATE TABLE asked_20 PARTITION OF asked_2 FOR VALUES FROM (MINVALUE, MINVALUE) TO ('n', '$1.00');
CREATE TABLE asked_21 PARTITION OF asked_2 DEFAULT;
-- This one looks = up by its name, so that nobody is asked about it.
CREATE TABLE asked_3 PARTITION OF asked DEFAULT PARTITION BY LIST ((NULLIF(id::int, 7)));
CREATE TABLE asked_30 PARTITION OF asked_3 DEFAULT;
CREATE TABLE asked_31 PARTITION OF asked_3 FOR VALUES IN (6);

-- Rows that are refused, some of them in the end only.
CREATE TABLE other (id int PRIMARY KEY);
INSERT INTO other SELECT generate_series(0, 999);
CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.id OPERATOR(pg_catalog.=) 666 THEN RAISE 'late' USING ERRCODE = '23514'; END IF; RETURN NULL; END $$;
CREATE TABLE refs (id int CHECK (id > 0), other int, day on_day, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED,
                   FOREIGN KEY (other) REFERENCES other DEFERRABLE INITIALLY DEFERRED) PARTITION BY RANGE (id);
CREATE TABLE refs_0 PARTITION OF refs FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE refs_1 PARTITION OF refs FOR VALUES FROM (1000) TO (100000);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON refs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();

-- Rows that a trigger drops, and one statement for all.
CREATE FUNCTION public.odd_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.id OPERATOR(pg_catalog.%) 2 OPERATOR(pg_catalog.=) 1 THEN RETURN NEW; END IF; RETURN NULL; END $$;
CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TABLE drops (id int, v text) PARTITION BY HASH (id);
CREATE TABLE drops_0 PARTITION OF drops FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE drops_1 PARTITION OF drops FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TRIGGER odd_only BEFORE INSERT ON drops_0 FOR EACH ROW EXECUTE FUNCTION odd_only();
CREATE TRIGGER odd_only BEFORE INSERT ON drops_1 FOR EACH ROW EXECUTE FUNCTION odd_only();
CREATE TABLE counted (id int, v text) PARTITION BY HASH (id);
CREATE TABLE counted_0 PARTITION OF counted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TRIGGER nothing AFTER INSERT ON counted FOR EACH STATEMENT EXECUTE FUNCTION nothing();
CREATE VIEW seen AS SELECT * FROM counted;
CREATE FUNCTION public.instead() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.counted VALUES (NEW.id, NEW.v); RETURN NEW; END $$;
CREATE TRIGGER instead INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION instead();

-- Leaves with much to be carried over.
CREATE TABLE ex (id int NOT NULL, name text DEFAULT upper('none'), span int4range, other int REFERENCES other,
                 made int DEFAULT half(8), twice int GENERATED ALWAYS AS (id * 2) STORED,
                 CHECK (name <> ''), CHECK (id IS DISTINCT FROM -1)) PARTITION BY RANGE (id);
CREATE TABLE ex_0 PARTITION OF ex FOR VALUES FROM (0) TO (1000);
CREATE TABLE ex_1 PARTITION OF ex FOR VALUES FROM (1000) TO (100000);
ALTER TABLE ex ADD PRIMARY KEY (id);
CREATE INDEX ON ex (half(id), lower(name) COLLATE "C" text_pattern_ops DESC) WHERE id > 0 AND name <> 'x';
CREATE INDEX ON ex ((id + 1), (NULLIF(id, 5)), ((name || '=') IS DISTINCT FROM 'a='));
CREATE INDEX ON ex USING gist (span) WITH (fillfactor = 70);
ALTER TABLE ex_0 ADD CONSTRAINT apart EXCLUDE USING gist (span WITH &&) WHERE (id < 500);
CREATE TRIGGER changed AFTER UPDATE ON ex_1 FOR EACH ROW WHEN (NEW.id > OLD.id) EXECUTE FUNCTION late();
CREATE STATISTICS idname ON id, name FROM ex_0;
COMMENT ON TABLE ex_1 IS 'noted';

-- Partitions that are still to be made.
CREATE TABLE grow (day on_day NOT NULL, mood mood, id int) PARTITION BY RANGE (day);
CREATE TABLE grow_2024_01 PARTITION OF grow FOR VALUES FROM ('2024-01-01') TO ('2024-02-01') PARTITION BY LIST (mood);
CREATE TABLE grow_2024_01_calm PARTITION OF grow_2024_01 FOR VALUES IN ('calm');
CREATE TABLE grow_2024_02 PARTITION OF grow FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (half(id));
CREATE TABLE grow_2024_02_0 PARTITION OF grow_2024_02 DEFAULT;
