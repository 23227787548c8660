//! Random tables: their columns with the values that these may have, and how they are divided.

use crate::harness::{Chance, identifier};

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) ty: &'static str,
    /// Value number so and so, in one of its spellings: the first one for people.
    pub(super) spell: fn(usize, &mut dyn FnMut(usize) -> usize) -> String,
}

impl Column {
    /// One of the first `many` values.
    pub(super) fn value(&self, chance: &mut Chance, many: usize) -> String {
        let value = chance.below(many);
        (self.spell)(value, &mut |end| chance.below(end))
    }

    /// A value as a literal.
    fn literal(&self, value: usize) -> String {
        format!("'{}'", (self.spell)(value, &mut |_| 0))
    }
}

/// What keys are made of.
pub(super) const KEYS: [Column; 8] = [
    Column {
        name: "k",
        ty: "int",
        spell: |n, any| match any(4) {
            0 | 1 => n.to_string(),
            2 => format!(" {n}"),
            _ => format!("+0{n}"),
        },
    },
    Column { name: "Key two", ty: "bigint", spell: |n, _| (n as i64 * 9_000_000_007).to_string() },
    Column {
        name: "name",
        ty: "text COLLATE \"C\"",
        spell: |n, _| match n {
            0 => String::new(),
            1 => "A".to_owned(),
            2 => " x\"".to_owned(),
            n => format!("é long enough {n:05}"),
        },
    },
    Column {
        name: "number",
        ty: "numeric",
        spell: |n, any| match any(4) {
            0 => n.to_string(),
            1 => format!("{n}.0"),
            2 => format!("{n}.00"),
            _ => format!("{n}0e-1"),
        },
    },
    Column {
        name: "moment",
        ty: "timestamptz",
        spell: |n, any| {
            let (day, hour, minute) = (1 + n / 1200, n / 60 % 20, n % 60);
            match any(3) {
                0 => format!("2024-01-{day:02} {hour:02}:{minute:02}:00+00"),
                1 => format!("2024-01-{day:02} {:02}:{minute:02}:00+01", hour + 1),
                _ => format!("Jan {day} 2024 {hour:02}:{minute:02} UTC"),
            }
        },
    },
    Column {
        name: "id",
        ty: "uuid",
        spell: |n, any| match any(3) {
            0 => format!("{n:08x}-0000-0000-0000-00000000abcd"),
            1 => format!("{n:08X}-0000-0000-0000-00000000ABCD"),
            _ => format!("{{{n:08x}00000000000000000000abcd}}"),
        },
    },
    Column {
        name: "day",
        ty: "date",
        spell: |n, any| {
            let (year, month, day) = (2000 + n / 336, 1 + n / 28 % 12, 1 + n % 28);
            match any(3) {
                0 => format!("{year}-{month:02}-{day:02}"),
                1 => format!("{year}{month:02}{day:02}"),
                _ => format!("{year}/{month}/{day}"),
            }
        },
    },
    Column {
        name: "yes",
        ty: "boolean",
        spell: |n, any| [["f", "no", "0"], ["t", "true", "1"]][n % 2][any(3)].to_owned(),
    },
];

/// What else a table has: the values of two differ in how they are stored only.
pub(super) const VALUES: [Column; 3] = [
    Column { name: "v", ty: "numeric", spell: |n, any| format!("{}{}", n % 3, ["", ".0"][any(2)]) },
    Column { name: "w", ty: "text", spell: |n, _| ["a", "b", "c"][n % 3].to_owned() },
    Column {
        name: "j",
        ty: "jsonb",
        spell: |n, any| ["{\"a\": 1}", "{\"a\": 1.0}", "[]"][(n + any(2)) % 3].to_owned(),
    },
];

/// What the column of `--newer` may be.
pub(super) const NEWER: [Column; 3] = [
    Column { name: "newest", ty: "int", spell: |n, _| (n % 4).to_string() },
    Column { name: "newest", ty: "timestamptz", spell: |n, any| (KEYS[4].spell)(n % 4, any) },
    Column { name: "newest", ty: "numeric", spell: |n, any| (KEYS[3].spell)(n % 4, any) },
];

/// What the column of `--delete-when` may be.
pub(super) const FLAGS: [Column; 2] = [
    Column { name: "gone", ty: "boolean", spell: |n, any| (KEYS[7].spell)(n, any) },
    Column { name: "gone", ty: "timestamptz", spell: |n, any| (KEYS[4].spell)(n % 4, any) },
];

/// Statements that make a table `t` in the schema `{s}`.
pub(super) struct Table {
    pub(super) ddl: Vec<String>,
    /// The same of what keeps its keys apart.
    pub(super) uniques: Vec<String>,
    pub(super) is_primary: bool,
    pub(super) joins_nulls: bool,
    /// What else keeps rows apart.
    pub(super) others: Vec<Other>,
}

/// Another constraint of leaves, or of a table that is not divided.
pub(super) struct Other {
    pub(super) columns: Vec<Column>,
    /// Whether each leaf has it.
    pub(super) is_everywhere: bool,
    /// What else says which rows are the same, if something does.
    pub(super) besides: Option<Besides>,
}

/// What a key has that columns of the input do not say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Besides {
    /// It is about some rows only.
    Condition,
    Expression,
    /// A column that the input lacks has its default.
    Default,
}

/// What a table is made of.
pub(super) struct Parts<'a> {
    pub(super) key: &'a [Column],
    pub(super) columns: &'a [Column],
    /// Whether the server knows NULLS NOT DISTINCT, and it is to be tried.
    pub(super) may_join_nulls: bool,
    /// Whether there may be other constraints.
    pub(super) has_others: bool,
}

impl Parts<'_> {
    pub(super) fn table(&self, chance: &mut Chance) -> Table {
        let names: Vec<String> = self.key.iter().map(|column| identifier(column.name)).collect();
        let is_primary = chance.is_one_in(2);
        let joins_nulls = !is_primary && self.may_join_nulls && chance.is_one_in(3);
        let kind = match (is_primary, joins_nulls) {
            (true, _) => "PRIMARY KEY",
            (false, true) => "UNIQUE NULLS NOT DISTINCT",
            (false, false) => "UNIQUE",
        };
        let unique = format!("{kind} ({})", names.join(", "));
        let mut tree = Tree { parts: self, ddl: Vec::new(), leaves: Vec::new() };
        let is_of_root = !chance.is_one_in(4);
        let is_plain = chance.is_one_in(6);
        let definition = format!("CREATE TABLE {{s}}.t ({}, d int DEFAULT 7)", self.definitions(0));
        if is_plain {
            tree.ddl.push(definition);
        } else {
            tree.divide(chance, &definition, is_of_root);
        }
        let mut uniques = match is_plain || is_of_root {
            true => vec![format!("ALTER TABLE {{s}}.t ADD {unique}")],
            false => tree
                .leaves
                .iter()
                .map(|leaf| format!("ALTER TABLE {{s}}.{leaf} ADD {unique}"))
                .collect(),
        };
        let leaves = if is_plain { vec!["t".to_owned()] } else { tree.leaves };
        let mut others: Vec<Other> = Vec::new();
        while self.has_others && (others.is_empty() || chance.is_one_in(3)) {
            let columns = self.columns_of_other(chance);
            let is_alike = |other: &Other| {
                other.columns.iter().map(|it| it.name).eq(columns.iter().map(|it| it.name))
            };
            if !others.iter().any(is_alike) {
                others.push(other(chance, columns, &leaves, &mut uniques));
            }
        }
        Table { ddl: tree.ddl, uniques, is_primary, joins_nulls, others }
    }

    fn columns_of_other(&self, chance: &mut Chance) -> Vec<Column> {
        let mut columns = vec![chance.one_of(&[self.key[0], VALUES[0], VALUES[1]])];
        let second = chance.one_of(self.key);
        if second.name != columns[0].name && !chance.is_one_in(3) {
            columns.push(second);
        }
        columns
    }

    /// All columns, from one of them on.
    fn definitions(&self, first: usize) -> String {
        let mut columns = self.columns.to_vec();
        columns.rotate_left(first);
        let definitions =
            columns.iter().map(|Column { name, ty, .. }| format!("{} {ty}", identifier(name)));
        definitions.collect::<Vec<_>>().join(", ")
    }
}

/// Makes another constraint, of all leaves or of some.
fn other(
    chance: &mut Chance,
    columns: Vec<Column>,
    leaves: &[String],
    uniques: &mut Vec<String>,
) -> Other {
    let is_exclusion = columns.len() == 1 && chance.is_one_in(4);
    let besides = (!is_exclusion && chance.is_one_in(4))
        .then(|| chance.one_of(&[Besides::Condition, Besides::Expression, Besides::Default]));
    let mut is_everywhere = true;
    let names: Vec<String> = columns.iter().map(|column| identifier(column.name)).collect();
    let names = names.join(", ");
    for (number, leaf) in leaves.iter().enumerate() {
        if number > 0 && chance.is_one_in(8) {
            is_everywhere = false;
            continue;
        }
        let index = format!("CREATE UNIQUE INDEX ON {{s}}.{leaf}");
        uniques.push(match besides {
            Some(Besides::Condition) => format!("{index} ({names}) WHERE v > 0"),
            Some(Besides::Expression) => format!("{index} ({names}, abs(v))"),
            Some(Besides::Default) => format!("{index} ({names}, d)"),
            None if is_exclusion => {
                format!("ALTER TABLE {{s}}.{leaf} ADD EXCLUDE USING hash ({names} WITH =)")
            }
            None => format!("ALTER TABLE {{s}}.{leaf} ADD UNIQUE ({names})"),
        });
    }
    Other { columns, is_everywhere, besides }
}

/// A partitioned table that is being made.
struct Tree<'a> {
    parts: &'a Parts<'a>,
    ddl: Vec<String>,
    leaves: Vec<String>,
}

impl Tree<'_> {
    /// By columns of the key, as it must be if the root keeps keys apart; or by another.
    fn divide(&mut self, chance: &mut Chance, definition: &str, is_of_root: bool) {
        let key = self.parts.key;
        let besides = &VALUES[1];
        let column = |chance: &mut Chance| match is_of_root || chance.is_one_in(3) {
            true => chance.one_of(key),
            false => *besides,
        };
        let upper = column(chance);
        let (strategy, bounds) = bounds(chance, &upper);
        let upper = identifier(upper.name);
        self.ddl.push(format!("{definition} PARTITION BY {strategy} ({upper})"));
        let divided = chance.is_one_in(3).then(|| chance.below(bounds.len()));
        for (number, bound) in bounds.iter().enumerate() {
            let leaf = format!("p{number}");
            if divided != Some(number) {
                self.leaf(chance, "t", &leaf, bound);
                continue;
            }
            let lower = column(chance);
            let (strategy, bounds) = self::bounds(chance, &lower);
            let lower = identifier(lower.name);
            self.ddl.push(format!(
                "CREATE TABLE {{s}}.{leaf} PARTITION OF {{s}}.t {bound} PARTITION BY {strategy} ({lower})"
            ));
            for (number, bound) in bounds.iter().enumerate() {
                self.leaf(chance, &leaf, &format!("{leaf}_{number}"), bound);
            }
        }
    }

    /// A leaf, perhaps one that has been a table of its own, with its columns in another order.
    fn leaf(&mut self, chance: &mut Chance, parent: &str, leaf: &str, bound: &str) {
        if chance.is_one_in(3) {
            let columns = self.parts.definitions(chance.below(self.parts.columns.len()));
            self.ddl.push(format!(
                "CREATE TABLE {{s}}.{leaf} (first int, d int DEFAULT 7, {columns}, last text);
                 ALTER TABLE {{s}}.{leaf} DROP first, DROP last;
                 ALTER TABLE {{s}}.{parent} ATTACH PARTITION {{s}}.{leaf} {bound}"
            ));
        } else {
            self.ddl.push(format!("CREATE TABLE {{s}}.{leaf} PARTITION OF {{s}}.{parent} {bound}"));
        }
        if chance.is_one_in(4) {
            self.ddl.push(format!("CREATE INDEX ON {{s}}.{leaf} (v, w)"));
        }
        self.leaves.push(leaf.to_owned());
    }
}

/// How a column may divide a table. Every value has its partition, NULL too.
fn bounds(chance: &mut Chance, column: &Column) -> (&'static str, Vec<String>) {
    let value = |value| column.literal(value);
    let default = "DEFAULT".to_owned();
    match chance.below(4) {
        0 => {
            let [one, two] = [[0, 2], [1, 5]].map(|[one, other]| match column.ty {
                // These have two or three values, of which one more is left to the default.
                "boolean" | "text" => value(one.max(other) % 2),
                _ => format!("{}, {}", value(one), value(other)),
            });
            let lists = [one, two].map(|values| format!("FOR VALUES IN ({values})"));
            ("LIST", lists.into_iter().chain([default]).collect())
        }
        1 if !["boolean", "text"].contains(&column.ty) => {
            let ranges = [
                format!("FOR VALUES FROM (MINVALUE) TO ({})", value(3)),
                format!("FOR VALUES FROM ({}) TO ({})", value(3), value(6)),
            ];
            ("RANGE", ranges.into_iter().chain([default]).collect())
        }
        _ => {
            let many = 1 + chance.below(4);
            let bound = |leaf| format!("FOR VALUES WITH (MODULUS {many}, REMAINDER {leaf})");
            ("HASH", (0..many).map(bound).collect())
        }
    }
}
