//! Random tables: how they are divided, and by which constraints rows are the same.

use super::columns::{CASELESS, Column, VALUES};
use crate::harness::{Chance, identifier};

/// The collation and the operator class that an index states for a column.
#[derive(Clone, Copy)]
pub(super) struct Stated {
    pub(super) column: &'static str,
    pub(super) collation: &'static str,
    class: &'static str,
}

impl Stated {
    /// Returns what the index on `key` states: always for a column that does not tell keys apart, and sometimes for
    /// another one with text.
    fn random(chance: &mut Chance, key: &[Column]) -> Option<Self> {
        let of = |name: &str| key.iter().find(|column| column.name == name);
        let caseless = of(CASELESS.name);
        let column = caseless.or_else(|| {
            let found = ["name", "padded", "texts"].into_iter().find_map(of);
            found.filter(|_| chance.is_one_in(2))
        })?;
        let collation = chance.one_of(&["\"C\"", "\"POSIX\""]);
        let class = match column.ty {
            "text[]" => "",
            "char(8)" => "bpchar_pattern_ops",
            _ => chance.one_of(&["text_pattern_ops", "varchar_ops"]),
        };
        let class = if chance.is_one_in(2) { class } else { "" };
        Some(Self { column: column.name, collation, class })
    }

    /// Returns the columns of an index.
    fn index(self, key: &[Column]) -> String {
        let column = |column: &Column| match column.name == self.column {
            true => {
                format!("{} COLLATE {} {}", identifier(column.name), self.collation, self.class)
            }
            false => identifier(column.name),
        };
        key.iter().map(column).collect::<Vec<_>>().join(", ")
    }
}

/// Statements that make a table `t` in the schema `{s}`.
pub(super) struct Table {
    pub(super) ddl: Vec<String>,
    /// The same of what keeps its keys apart.
    pub(super) uniques: Vec<String>,
    pub(super) is_primary: bool,
    pub(super) joins_nulls: bool,
    /// How the index compares a column of the key, if not as the column is compared.
    pub(super) stated: Option<Stated>,
    /// Whether the column `up` refers to the key of another row.
    pub(super) refers: bool,
    /// The columns of the other constraints that keep rows apart.
    pub(super) others: Vec<Vec<Column>>,
}

/// What a key has that columns of the input do not say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Besides {
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
    /// Whether there may be another index on the key, of the same equality.
    pub(super) may_have_twin: bool,
}

impl Parts<'_> {
    pub(super) fn table(&self, chance: &mut Chance) -> Table {
        let names: Vec<String> = self.key.iter().map(|column| identifier(column.name)).collect();
        let stated = Stated::random(chance, self.key).filter(|_| !self.has_others);
        let is_primary = stated.is_none() && chance.is_one_in(2);
        let joins_nulls = !is_primary && self.may_join_nulls && chance.is_one_in(3);
        let kind = match (is_primary, joins_nulls) {
            (true, _) => "PRIMARY KEY",
            (false, true) => "UNIQUE NULLS NOT DISTINCT",
            (false, false) => "UNIQUE",
        };
        let unique = format!("{kind} ({})", names.join(", "));
        let is_divisor = |column: &&Column| stated.is_none_or(|it| it.column != column.name);
        let divisors: Vec<Column> = self.key.iter().filter(is_divisor).copied().collect();
        let is_of_root = !divisors.is_empty() && !chance.is_one_in(4);
        let mut tree = Tree { parts: self, divisors, ddl: Vec::new(), leaves: Vec::new() };
        let is_plain = chance.is_one_in(6);
        let definition = format!(
            "CREATE TABLE {{s}}.t ({}, d int DEFAULT 7, up {})",
            self.definitions(0),
            self.key[0].ty
        );
        if is_plain {
            tree.ddl.push(definition);
        } else {
            tree.divide(chance, &definition, is_of_root);
        }
        let unique = |table: &String| match stated {
            None => format!("ALTER TABLE {{s}}.{table} ADD {unique}"),
            Some(stated) => {
                let nulls = if joins_nulls { " NULLS NOT DISTINCT" } else { "" };
                let columns = stated.index(self.key);
                format!("CREATE UNIQUE INDEX ON {{s}}.{table} ({columns}){nulls}")
            }
        };
        let root = vec!["t".to_owned()];
        let leaves = if is_plain { root.clone() } else { tree.leaves };
        let kept = if is_plain || is_of_root { &root } else { &leaves };
        let mut uniques: Vec<String> = kept.iter().map(unique).collect();
        if self.may_have_twin && stated.is_none() && chance.is_one_in(3) {
            let name = |column: &Column| column.name == "name";
            let twin = self.key.iter().find(|column| name(column)).map(|column| Stated {
                column: column.name,
                collation: "\"POSIX\"",
                class: "text_pattern_ops",
            });
            let twin = twin.map(|stated| stated.index(self.key));
            let twins = twin.iter().flat_map(|columns| {
                leaves
                    .iter()
                    .map(move |leaf| format!("CREATE UNIQUE INDEX ON {{s}}.{leaf} ({columns})"))
            });
            uniques.extend(twins);
        }
        let refers = self.key.len() == 1 && !joins_nulls && stated.is_none() && kept == &root;
        let refers = refers && chance.is_one_in(3);
        if refers {
            uniques.push(format!(
                "ALTER TABLE {{s}}.t ADD FOREIGN KEY (up) REFERENCES {{s}}.t ({}) ON DELETE SET NULL",
                names[0]
            ));
        }
        let mut others: Vec<Vec<Column>> = Vec::new();
        while self.has_others && (others.is_empty() || chance.is_one_in(3)) {
            let columns = self.columns_of_other(chance);
            let is_alike = |other: &[Column]| {
                other.iter().map(|it| it.name).eq(columns.iter().map(|it| it.name))
            };
            // One that is like the key says nothing else than the key.
            if !is_alike(self.key) && !others.iter().any(|other| is_alike(other)) {
                other(chance, &columns, &leaves, &mut uniques);
                others.push(columns);
            }
        }
        Table { ddl: tree.ddl, uniques, is_primary, joins_nulls, stated, refers, others }
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
fn other(chance: &mut Chance, columns: &[Column], leaves: &[String], uniques: &mut Vec<String>) {
    let is_exclusion = columns.len() == 1 && chance.is_one_in(4);
    let besides = (!is_exclusion && chance.is_one_in(4))
        .then(|| chance.one_of(&[Besides::Condition, Besides::Expression, Besides::Default]));
    let names: Vec<String> = columns.iter().map(|column| identifier(column.name)).collect();
    let names = names.join(", ");
    for (number, leaf) in leaves.iter().enumerate() {
        if number > 0 && chance.is_one_in(8) {
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
}

/// A partitioned table that is being made.
struct Tree<'a> {
    parts: &'a Parts<'a>,
    /// The columns of the key that may divide the table.
    divisors: Vec<Column>,
    ddl: Vec<String>,
    leaves: Vec<String>,
}

impl Tree<'_> {
    /// By columns of the key, as it must be if the root keeps keys apart; or by another.
    fn divide(&mut self, chance: &mut Chance, definition: &str, is_of_root: bool) {
        let divisors = self.divisors.clone();
        let besides = &VALUES[1];
        let column = |chance: &mut Chance| match is_of_root || chance.is_one_in(3) {
            true if !divisors.is_empty() => chance.one_of(&divisors),
            _ => *besides,
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
            let up = self.parts.key[0].ty;
            self.ddl.push(format!(
                "CREATE TABLE {{s}}.{leaf} (first int, d int DEFAULT 7, {columns}, last text, up {up});
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
        1 if !["boolean", "text", "text[]"].contains(&column.ty) => {
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
