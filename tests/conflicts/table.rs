//! Random tables: their partitions, and the constraints that identify duplicates.

use super::columns::{CASELESS, Column, VALUES};
use crate::harness::{Chance, identifier};

/// The collation and the operator class that an index specifies for a column.
#[derive(Clone, Copy)]
pub(super) struct Stated {
    pub(super) column: &'static str,
    pub(super) collation: &'static str,
    class: &'static str,
}

impl Stated {
    /// Returns the clauses of an index on `key`: always for a column that does not distinguish keys, and
    /// sometimes for another column with text.
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

    /// Returns the column list of the index.
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

/// Statements that create a table `t` in the schema `{s}`.
pub(super) struct Table {
    pub(super) ddl: Vec<String>,
    /// The statements that create its unique constraints and indexes.
    pub(super) uniques: Vec<String>,
    pub(super) is_primary: bool,
    pub(super) joins_nulls: bool,
    /// The index's way to compare a key column, if it differs from the column's own comparison.
    pub(super) stated: Option<Stated>,
    /// Whether the column `up` refers to the key of another row.
    pub(super) refers: bool,
    /// The columns of the other constraints that keep rows apart.
    pub(super) others: Vec<Vec<Column>>,
}

/// A property of a key that the input columns do not show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Besides {
    /// The index is partial.
    Condition,
    Expression,
    /// A column that the input lacks has its default.
    Default,
}

/// The components of a table.
pub(super) struct Parts<'a> {
    pub(super) key: &'a [Column],
    pub(super) columns: &'a [Column],
    /// Whether the server supports NULLS NOT DISTINCT and the case may use it.
    pub(super) may_join_nulls: bool,
    /// Whether there may be other constraints.
    pub(super) has_others: bool,
    /// Whether there may be another index on the key with the same equality.
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
            // A constraint with the same columns as the key would add nothing.
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

    /// Returns the definitions of all columns, starting with the column `first`.
    fn definitions(&self, first: usize) -> String {
        let mut columns = self.columns.to_vec();
        columns.rotate_left(first);
        let definitions =
            columns.iter().map(|Column { name, ty, .. }| format!("{} {ty}", identifier(name)));
        definitions.collect::<Vec<_>>().join(", ")
    }
}

/// Adds another constraint, on all leaves or on some.
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

/// A partitioned table during its construction.
struct Tree<'a> {
    parts: &'a Parts<'a>,
    /// The key columns that may partition the table.
    divisors: Vec<Column>,
    ddl: Vec<String>,
    leaves: Vec<String>,
}

impl Tree<'_> {
    /// Partitions a table by key columns, which a key of the root requires, or by another column.
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

    /// Adds a leaf, perhaps one that was a separate table with its columns in another order.
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

/// Returns a method to partition by a column, and bounds. Every value has a partition, including NULL.
fn bounds(chance: &mut Chance, column: &Column) -> (&'static str, Vec<String>) {
    let value = |value| column.literal(value);
    let default = "DEFAULT".to_owned();
    match chance.below(4) {
        0 => {
            let [one, two] = [[0, 2], [1, 5]].map(|[one, other]| match column.ty {
                // These types have two or three values. One of them is left to the default.
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
