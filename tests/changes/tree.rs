//! Random trees over the columns of one table, and rows for them: keys of every lane, on one level or two.

use std::fmt::Write;

use crate::harness::Chance;

/// The columns of the input; `w` gets its default.
pub(super) const COLUMNS: &str = "id,n,m,at,tod,g,v";

/// Types and functions that the columns and keys need.
pub(super) const TYPES: &str = "
DROP SCHEMA IF EXISTS s CASCADE; CREATE SCHEMA s;
DROP TYPE IF EXISTS mood CASCADE; CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN s.few AS int CONSTRAINT few CHECK (VALUE < 900);
CREATE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 4; END'";

/// A key, with the bounds of three partitions. `$now` is one second in the future.
struct Key {
    sql: &'static str,
    bounds: [&'static str; 3],
}

const KEYS: [Key; 13] = [
    Key {
        sql: "HASH (id)",
        bounds: [
            "FOR VALUES WITH (MODULUS 4, REMAINDER 0)",
            "FOR VALUES WITH (MODULUS 4, REMAINDER 2)",
            "FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ],
    },
    Key {
        sql: "RANGE (id)",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO (500)",
            "FOR VALUES FROM (500) TO (1000)",
            "DEFAULT",
        ],
    },
    Key { sql: "LIST (s.f(id))", bounds: ["FOR VALUES IN (0)", "FOR VALUES IN (1)", "DEFAULT"] },
    Key {
        sql: "HASH (s.f(id), m)",
        bounds: [
            "FOR VALUES WITH (MODULUS 4, REMAINDER 0)",
            "FOR VALUES WITH (MODULUS 4, REMAINDER 2)",
            "FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ],
    },
    Key {
        sql: "RANGE (((n)::int # 0))",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO (300)",
            "FOR VALUES FROM (300) TO (500)",
            "DEFAULT",
        ],
    },
    Key {
        sql: "RANGE (n)",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO (300)",
            "FOR VALUES FROM (300) TO (500)",
            "DEFAULT",
        ],
    },
    Key { sql: "RANGE (m)", bounds: ["FOR VALUES FROM ('sad') TO ('happy')", "DEFAULT", ""] },
    Key {
        sql: "RANGE (at)",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO ('2024-02-01 00:00:00+00')",
            "FOR VALUES FROM ('2024-02-01 00:00:00+00') TO ('$now')",
            "FOR VALUES FROM ('$now') TO (MAXVALUE)",
        ],
    },
    Key {
        sql: "RANGE (date_trunc('second', at AT TIME ZONE 'Europe/Berlin'))",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO ('2024-02-01')",
            "FOR VALUES FROM ('2024-02-01') TO ('$now')",
            "DEFAULT",
        ],
    },
    Key {
        sql: "RANGE (tod)",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO ('10:30:00+00')",
            "FOR VALUES FROM ('10:30:00+00') TO ('11:30:00+00')",
            "DEFAULT",
        ],
    },
    Key {
        sql: "RANGE (g)",
        bounds: [
            "FOR VALUES FROM (MINVALUE) TO (0.30000000000000004)",
            "FOR VALUES FROM (0.30000000000000004) TO (1)",
            "DEFAULT",
        ],
    },
    Key {
        sql: "LIST ((g::text))",
        bounds: ["FOR VALUES IN ('0.1')", "FOR VALUES IN ('0.3')", "DEFAULT"],
    },
    Key { sql: "LIST (w)", bounds: ["FOR VALUES IN (1)", "FOR VALUES IN (2)", "DEFAULT"] },
];

/// A random tree with the root `t`.
pub(super) struct Tree {
    pub(super) ddl: String,
    /// The names of the leaves, those of the first level first.
    pub(super) leaves: Vec<String>,
}

/// Returns a random tree; `now` is a moment in the near future.
pub(super) fn tree(chance: &mut Chance, now: &str) -> Tree {
    let [key, below] = [0, 1].map(|_| &KEYS[chance.below(KEYS.len())]);
    let split = chance.is_one_in(2).then(|| chance.below(2));
    let mut ddl = format!(
        "CREATE TABLE t (id int NOT NULL, n s.few, m mood, at timestamptz, tod timetz, g float8, v text,
                         w int DEFAULT 1) PARTITION BY {};",
        key.sql
    );
    let (mut leaves, mut lower) = (Vec::new(), Vec::new());
    for (number, bound) in key.bounds.iter().enumerate().filter(|(_, bound)| !bound.is_empty()) {
        let bound = bound.replace("$now", now);
        let _ = write!(ddl, "CREATE TABLE t{number} PARTITION OF t {bound}");
        if split != Some(number) {
            ddl.push(';');
            leaves.push(format!("t{number}"));
            continue;
        }
        let _ = write!(ddl, " PARTITION BY {};", below.sql);
        for (at, bound) in below.bounds.iter().enumerate().filter(|(_, bound)| !bound.is_empty()) {
            let bound = bound.replace("$now", now);
            let _ = write!(ddl, "CREATE TABLE t{number}_{at} PARTITION OF t{number} {bound};");
            lower.push(format!("t{number}_{at}"));
        }
    }
    leaves.extend(lower);
    Tree { ddl, leaves }
}

/// Returns lines of the input, one for each id from 0 on. With `dirt`, the server refuses some of them.
pub(super) fn rows(chance: &mut Chance, count: usize, dirt: bool) -> Vec<String> {
    let row = |id: usize| {
        let n = match chance.below(20) {
            0 if dirt => "1000".to_owned(),
            1 if dirt => "many".to_owned(),
            2 | 3 => format!(" +{} ", id % 900),
            _ => (id % 900).to_string(),
        };
        let m = chance.one_of(&["sad", "happy"]);
        let at = chance.one_of(&[
            "2024-01-05 10:00:00+00",
            "2024-02-05 10:00:00+00",
            "Jan 5 2024 10:00 UTC",
            "5 Feb 2024 23:30:00",
            "now",
            "Today 12:00",
            "infinity",
        ]);
        let tod = chance.one_of(&[
            "12:00:00+02",
            "13:00:00+02",
            "12:00",
            "2024-06-01 12:00 Europe/Berlin",
        ]);
        let g =
            chance.one_of(&["0.1", "0.30000000000000004", "0x1.3333333333334p-2", "1e1", "NaN"]);
        format!("{id},{n},{m},{at},{tod},{g},{}", "x".repeat(60))
    };
    (0..count).map(row).collect()
}
