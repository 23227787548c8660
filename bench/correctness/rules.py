"""Rules of the table, which decide to which leaf a row goes and what is stored."""

from bench.correctness.case import TIMES, Case, hashed, lines, ranged

# Equal values belong in the same leaf, however they are written.
SPELLED = (
    "CREATE TABLE t (id bigint, f double precision, c char(4)) PARTITION BY LIST (c)",
    "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a') PARTITION BY HASH (f)",
    "CREATE TABLE t_a0 PARTITION OF t_a FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
    "CREATE TABLE t_a1 PARTITION OF t_a FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    "CREATE TABLE t_b PARTITION OF t FOR VALUES IN ('b') PARTITION BY RANGE (f)",
    "CREATE TABLE t_b0 PARTITION OF t_b FOR VALUES FROM (MINVALUE) TO ('-0')",
    "CREATE TABLE t_b1 PARTITION OF t_b FOR VALUES FROM ('0') TO (MAXVALUE)",
)
CHANGING = """CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF new.note = 'drop' THEN RETURN NULL; END IF;
        new.note := upper(new.note);
        RETURN new;
    END $$"""
MOVING = """CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        new.id := new.id + 100;
        RETURN new;
    END $$"""
TRIGGER = "CREATE TRIGGER change BEFORE INSERT ON t_100 FOR EACH ROW EXECUTE FUNCTION change()"
WHOLE = ("k", "v", "twice", "made")
COUNTED = (
    "id bigint GENERATED ALWAYS AS IDENTITY, k bigint, v bigint,"
    " twice bigint GENERATED ALWAYS AS (v * 2) STORED, made text DEFAULT 'by default'"
)

CASES = [
    Case(
        "spelled",
        "Keys that are equal but written differently: 0 and -0, `char(4)` with and without blanks",
        SPELLED,
        "csv",
        lines(
            "id,f,c",
            "1,0,a",
            "2,-0,a   ",
            "3,0.0,a ",
            "4,-0.0,b",
            "5,0,b   ",
            "6,-5e-324,b",
        ),
        ("id", "f", "c"),
    ),
    Case(
        "trigger",
        "A BEFORE trigger of one leaf that changes and drops rows",
        (*ranged("id bigint, note text", "id", 0, 100, 200), CHANGING, TRIGGER),
        "csv",
        lines("id,note", "1,a", "101,b", "102,drop", "2,drop", "103,c"),
        ("id", "note"),
    ),
    Case(
        "moving",
        "A BEFORE trigger that moves a row out of its leaf, to be refused",
        (*ranged("id bigint, note text", "id", 0, 100, 200, 300), MOVING, TRIGGER),
        "csv",
        lines("id,note", "1,a", "101,b", "2,c"),
        ("id", "note"),
        is_refused=True,
    ),
    Case(
        "columns",
        "Identity, generated and default columns that the input lacks",
        hashed(COUNTED, "k"),
        "csv",
        lines("k,v", "10,1", "20,2", "30,3", "40,4"),
        ("k", "v"),
        (*WHOLE, f"id BETWEEN 1 AND {4 * TIMES}", "count(*) OVER (PARTITION BY id)"),
    ),
    Case(
        "nowhere",
        "A row that no partition takes, to be refused",
        ranged("id bigint, note text", "id", 0, 100, 200),
        "csv",
        lines("id,note", "1,a", "101,b", "200,c", "2,d"),
        ("id", "note"),
        is_refused=True,
    ),
    Case(
        "twice",
        "A key that the input has twice, to be refused",
        hashed("id bigint PRIMARY KEY, note text"),
        "csv",
        lines("id,note", *(f"{number},a" for number in range(3000)), "1,d"),
        ("id", "note"),
        is_refused=True,
        times=1,
    ),
]
