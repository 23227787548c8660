//! A random case: a table, what is there before, an input, and the options of its load.

use crate::harness::{Cell, Chance, identifier};

/// A column: its name, its type, and spellings of values that it may have.
pub(super) type Column = (&'static str, &'static str, &'static [&'static str]);

/// What keys are made of. Some values have several spellings.
const KEYS: [Column; 8] = [
    ("k", "int", &["0", "1", "2", "3", " 4", "05", "6", "7"]),
    ("Key two", "bigint", &["-1", "0", "1", "9000000000", "+7"]),
    ("name", "text COLLATE \"C\"", &["a", "b", "A", "äö", " x", "long long long long"]),
    ("number", "numeric", &["1", "1.0", "1.00", "2", "3.50", "3.5", "-7", "1e1"]),
    (
        "moment",
        "timestamptz",
        &["2024-01-01 00:00:00+00", "2024-01-01 01:00:00+01", "2 Jan 2024 00:00 UTC", "2023-12-31"],
    ),
    ("id", "uuid", &["00000000-0000-0000-0000-000000000001", "{00000000000000000000000000000002}"]),
    ("day", "date", &["2024-01-01", "January 1, 2024", "20240102", "2024-02-29"]),
    ("yes", "boolean", &["t", "f", "true", "no"]),
];

/// The other columns. The first two are compared as they are stored.
const VALUES: [Column; 4] = [
    ("v", "numeric", &["1", "1.0", "2", "3"]),
    ("w", "text", &["a", "b", "c"]),
    ("j", "jsonb", &["{}", "[1]", "{\"a\": 1}"]),
    ("newest", "int", &["0", "1", "2", "3"]),
];

pub(super) const FLAGS: [Column; 2] =
    [("gone", "boolean", &["t", "f"]), ("gone", "timestamptz", &["2024-01-01"])];

pub(super) struct Case {
    pub(super) key: Vec<Column>,
    pub(super) columns: Vec<Column>,
    /// Statements that make the table in the schema `{s}`.
    pub(super) ddl: Vec<String>,
    /// Rows before, of all columns.
    pub(super) before: Vec<Vec<Cell>>,
    /// The input's columns, by their places among all of them, and its rows, file by file.
    pub(super) given: Vec<usize>,
    pub(super) files: Vec<Vec<Vec<Cell>>>,
    pub(super) action: &'static str,
    pub(super) set: Vec<&'static str>,
    pub(super) inserts: bool,
    pub(super) newer: bool,
    /// `first` or `last`.
    pub(super) counts: &'static str,
    pub(super) delete_when: bool,
    /// Whether the table lacks the column that says so.
    pub(super) is_besides: bool,
    /// Options besides the files.
    pub(super) options: Vec<String>,
    pub(super) is_piped: bool,
    pub(super) is_struck: bool,
}

impl Case {
    pub(super) fn random(chance: &mut Chance) -> Self {
        let mut key: Vec<Column> = Vec::new();
        while key.len() < 1 + chance.below(3) {
            let column = chance.one_of(&KEYS);
            let is_too_small = key.is_empty() && column.1 == "boolean";
            if !key.contains(&column) && !is_too_small {
                key.push(column);
            }
        }
        let flag = chance.one_of(&FLAGS);
        let columns: Vec<Column> = key.iter().chain(&VALUES).chain([&flag]).copied().collect();
        let is_primary = chance.is_one_in(2);
        let is_nullable = !is_primary;
        let ddl = ddl(chance, &key, &columns, is_primary);
        let action = chance.one_of(&["skip", "update", "update", "update", "delete"]);
        let updates = action == "update";
        let newer = updates && chance.is_one_in(3);
        let delete_when = updates && chance.is_one_in(3);
        let is_besides = delete_when && flag.1 == "boolean" && chance.is_one_in(2);
        let is_struck = chance.is_one_in(5);
        let mut given: Vec<usize> = (0..columns.len())
            .filter(|&at| {
                let is_asked =
                    newer && columns[at].0 == "newest" || delete_when && at + 1 == columns.len();
                at < key.len() || is_asked || !chance.is_one_in(3)
            })
            .collect();
        if !delete_when {
            given.retain(|&at| at + 1 < columns.len() || chance.is_one_in(2));
        }
        if chance.is_one_in(3) {
            let all = given.len();
            (0..all).for_each(|at| given.swap(at, at + chance.below(all - at)));
        }
        let mut cell = |at: usize| -> Cell {
            let share = match at {
                _ if at + 1 == columns.len() => 0.6,
                _ if at >= key.len() || is_nullable => 0.08,
                _ => 0.0,
            };
            (chance.share() >= share).then(|| chance.one_of(columns[at].2).to_owned())
        };
        let before = (0..30).map(|_| (0..columns.len()).map(&mut cell).collect()).collect();
        let rows = if is_struck { 2_000 } else { 60 };
        let rows: Vec<Vec<Cell>> =
            (0..rows).map(|_| given.iter().map(|&at| cell(at)).collect()).collect();
        let cuts = [chance.below(rows.len()), chance.below(rows.len())];
        let (low, high) = (cuts[0].min(cuts[1]), cuts[0].max(cuts[1]));
        let mut files = vec![rows[..low].to_vec(), rows[low..high].to_vec(), rows[high..].to_vec()];
        files.retain(|file| !file.is_empty());
        let set: Vec<&str> = given
            .iter()
            .filter(|&&at| at >= key.len() && !(is_besides && at + 1 == columns.len()))
            .map(|&at| columns[at].0)
            .collect();
        let names = updates && set.len() > 1 && chance.is_one_in(3);
        let mut case = Self {
            set: if names { vec![set[chance.below(set.len())]] } else { set },
            inserts: !(updates && chance.is_one_in(4)),
            counts: if updates { "last" } else { "first" },
            options: Vec::new(),
            is_piped: !is_struck && chance.is_one_in(7),
            key,
            columns,
            ddl,
            before,
            given,
            files,
            action,
            newer,
            delete_when,
            is_besides,
            is_struck,
        };
        case.choose_options(chance, is_primary, names);
        case
    }

    fn choose_options(&mut self, chance: &mut Chance, is_primary: bool, names: bool) {
        let list = |names: &mut dyn Iterator<Item = &'static str>| {
            names.map(identifier).collect::<Vec<_>>().join(",")
        };
        let mut options = vec![format!("--on-conflict={}", self.action)];
        let given =
            self.given.iter().map(|&at| match self.is_besides && at + 1 == self.columns.len() {
                true => "flag",
                false => self.columns[at].0,
            });
        options.push(format!("--columns={}", list(&mut given.collect::<Vec<_>>().into_iter())));
        if !is_primary && self.action != "skip" || chance.is_one_in(3) {
            options
                .push(format!("--key={}", list(&mut self.key.iter().rev().map(|column| column.0))));
        }
        if names {
            options.push(format!("--update={}", list(&mut self.set.iter().copied())));
        }
        options.extend((!self.inserts).then(|| "--no-insert".to_owned()));
        options.extend(self.newer.then(|| "--newer=newest".to_owned()));
        if self.delete_when {
            let flag = if self.is_besides { "flag" } else { "gone" };
            options.push(format!("--delete-when={flag}"));
        }
        if !self.newer && chance.is_one_in(2) {
            self.counts = chance.one_of(&["first", "last"]);
            options.push(format!("--duplicates={}", self.counts));
        }
        options.extend(chance.is_one_in(3).then(|| "--wire=text".to_owned()));
        options.push(format!("--memory={}", chance.one_of(&["1MiB", "64MiB"])));
        if self.is_struck {
            // Then nothing is committed together that need not be.
            options.push("--few-rows=0".to_owned());
        } else {
            options.extend(chance.is_one_in(6).then(|| "--atomic".to_owned()));
        }
        self.options = options;
    }

    /// The input's column at this place of it, as SQL names it where the input is a table of its own.
    pub(super) fn input_columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.given.iter().map(|&at| self.columns[at])
    }
}

/// A table that is partitioned by the first column of the key, or not at all.
fn ddl(chance: &mut Chance, key: &[Column], columns: &[Column], is_primary: bool) -> Vec<String> {
    let names: Vec<String> = key.iter().map(|column| identifier(column.0)).collect();
    let kind = if is_primary { "PRIMARY KEY" } else { "UNIQUE" };
    let unique = format!("{kind} ({})", names.join(", "));
    let definitions = |columns: &[Column]| {
        let not_null =
            |column: &Column| if is_primary && key.contains(column) { " NOT NULL" } else { "" };
        let definition =
            |column: &Column| format!("{} {}{}", identifier(column.0), column.1, not_null(column));
        columns.iter().map(definition).collect::<Vec<_>>().join(", ")
    };
    let mut ddl = Vec::new();
    let rest = "d int DEFAULT 7";
    if chance.is_one_in(5) {
        return vec![format!("CREATE TABLE {{s}}.t ({}, {rest}, {unique})", definitions(columns))];
    }
    let is_of_root = !chance.is_one_in(4);
    let (strategy, leaves): (&str, Vec<String>) = match (key[0].1, chance.below(3)) {
        ("int", 0) => (
            "RANGE",
            ["FROM (MINVALUE) TO (3)", "FROM (3) TO (6)", "FROM (6) TO (MAXVALUE)"]
                .map(|bounds| format!("FOR VALUES {bounds}"))
                .to_vec(),
        ),
        ("numeric", 0) => ("LIST", vec!["FOR VALUES IN (1.0, 2)".to_owned(), "DEFAULT".to_owned()]),
        _ => {
            let many = 1 + chance.below(4);
            (
                "HASH",
                (0..many)
                    .map(|leaf| format!("FOR VALUES WITH (MODULUS {many}, REMAINDER {leaf})"))
                    .collect(),
            )
        }
    };
    // A nullable key has no range, but a default partition.
    let has_default = strategy == "RANGE" && !is_primary;
    let of_root = if is_of_root { format!(", {unique}") } else { String::new() };
    ddl.push(format!(
        "CREATE TABLE {{s}}.t ({}, {rest}{of_root}) PARTITION BY {strategy} ({})",
        definitions(columns),
        names[0]
    ));
    let bounds = leaves.into_iter().chain(has_default.then(|| "DEFAULT".to_owned()));
    for (leaf, bound) in bounds.enumerate() {
        if chance.is_one_in(3) {
            let mut others = columns.to_vec();
            others.rotate_left(chance.below(columns.len()));
            ddl.push(format!(
                "CREATE TABLE {{s}}.p{leaf} (dropped int, {rest}, {}); \
                 ALTER TABLE {{s}}.p{leaf} DROP dropped; \
                 ALTER TABLE {{s}}.t ATTACH PARTITION {{s}}.p{leaf} {bound}",
                definitions(&others)
            ));
        } else if chance.is_one_in(4) {
            ddl.push(format!(
                "CREATE TABLE {{s}}.p{leaf} PARTITION OF {{s}}.t {bound} PARTITION BY HASH ({}); \
                 CREATE TABLE {{s}}.p{leaf}a PARTITION OF {{s}}.p{leaf} FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
                 CREATE TABLE {{s}}.p{leaf}b PARTITION OF {{s}}.p{leaf} FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                names[0]
            ));
            if !is_of_root {
                ddl.push(format!("ALTER TABLE {{s}}.p{leaf}a ADD {unique}; ALTER TABLE {{s}}.p{leaf}b ADD {unique}"));
            }
            continue;
        } else {
            ddl.push(format!("CREATE TABLE {{s}}.p{leaf} PARTITION OF {{s}}.t {bound}"));
        }
        if !is_of_root {
            ddl.push(format!("ALTER TABLE {{s}}.p{leaf} ADD {unique}"));
        }
        if chance.is_one_in(4) {
            ddl.push(format!("CREATE INDEX ON {{s}}.p{leaf} (v, w)"));
        }
    }
    ddl
}
