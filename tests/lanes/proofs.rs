//! Proofs of a lane among the other tests: vectors, random spellings, values of expressions, random trees,
//! and the oracle's trees.

use std::collections::BTreeSet;
use std::path::Path;

use super::planned::{Database, Definition, Lane, Planned};
use super::subjects::{Keys, columns};
use crate::harness::trees::{self, Case, Expected};
use crate::harness::{Server, identifier};
use crate::random::values::{TYPES, all};
use crate::spelling;

/// The other tests that concern keys.
pub(super) struct Proofs {
    trees: Vec<Tree>,
    random: Vec<Planned>,
}

/// A tree of the oracle, with the keys that route its rows.
struct Tree {
    name: String,
    keys: Vec<Planned>,
}

impl Proofs {
    pub(super) fn find(server: Server, bytewise: &mut Database, language: &mut Database) -> Self {
        let mut trees = Vec::new();
        for (name, case) in cases() {
            let database = match case.database_collation.as_deref() {
                Some("C.UTF-8") => &mut *language,
                _ => &mut *bytewise,
            };
            trees.extend(Tree::plant(name, &case, server, database));
        }
        let mut database = Database::new(server, None);
        database.session.run(TYPES);
        let kinds: Vec<String> = all().iter().map(|kind| kind.sql.to_owned()).collect();
        let random = columns(&mut database, "random", &kinds, &[]).into_iter().flatten().flatten();
        Self { trees, random: random.collect() }
    }

    /// Returns the trees that need a server with ICU.
    pub(super) fn for_icu(server: Server, database: &mut Database) -> Self {
        let cases = cases().filter(|(_, case)| case.needs_icu());
        let trees = cases.filter_map(|(name, case)| Tree::plant(name, &case, server, database));
        Self { trees: trees.collect(), random: Vec::new() }
    }

    /// Returns the names of the proofs of these keys' lanes.
    pub(super) fn list(&self, keys: &Keys) -> Vec<String> {
        let mut proofs: Vec<String> = keys.iter().flatten().find_map(vectors).into_iter().collect();
        if keys.iter().flatten().any(is_spelled) {
            proofs.push("spellings".to_owned());
        }
        if keys.iter().flatten().any(is_native_expression) {
            proofs.push("values".to_owned());
        }
        if keys.iter().flatten().any(|key| self.random.iter().any(|other| alike(key, other))) {
            proofs.push("random trees".to_owned());
        }
        proofs.extend(self.trees(keys));
        proofs
    }

    /// Returns the most specific tree for each key, and whether there are more.
    fn trees(&self, keys: &Keys) -> Vec<String> {
        let (mut all, mut first) = (BTreeSet::new(), BTreeSet::new());
        for key in keys.iter().flatten() {
            let has = |tree: &&Tree| tree.keys.iter().any(|other| alike(key, other));
            let about =
                |tree: &&Tree| (tree.keys.len(), !tree.name.starts_with(&key.strategy.to_string()));
            let trees = || self.trees.iter().filter(has);
            all.extend(trees().map(|tree| &tree.name));
            first.extend(trees().min_by_key(about).map(|tree| &tree.name));
        }
        let mut named: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
        if all.len() > first.len() {
            named.push("more".to_owned());
        }
        named
    }
}

impl Tree {
    /// Returns `None` if the tree proves nothing about keys on this server.
    fn plant(name: String, case: &Case, server: Server, database: &mut Database) -> Option<Self> {
        let Expected::Loaded(loaded) = &case.expected else { return None };
        if case.skipped(server, &database.session).is_some() {
            return None;
        }
        let schema = identifier(&name);
        database.session.run("DISCARD ALL");
        database.session.run(&format!("CREATE SCHEMA {schema}; SET search_path = {schema}"));
        database.session.run(&case.schema(&name, database.url()));
        let settings = case.settings.iter().map(|(name, value)| format!("SET {name} = '{value}';"));
        let settings: String = settings.collect();
        let table = case.table(&name);
        let mut keys = database.planned(&table, case.copy.columns.as_deref(), &settings);
        keys.retain(|key| match key.lane {
            Lane::Native => loaded.native.as_ref().is_some_and(|share| share.asks_for_some()),
            Lane::Server => loaded.server.as_ref().is_some_and(|share| share.asks_for_some()),
            Lane::Slow => true,
        });
        Some(Self { name, keys })
    }
}

fn cases() -> impl Iterator<Item = (String, Case)> {
    trees::names().into_iter().map(|name| {
        let case = Case::read(&name);
        (name, case)
    })
}

/// Whether a proof of one key is a proof of the other: both have the same strategy and lane, and agree in
/// everything else on which the lane depends.
fn alike(one: &Planned, other: &Planned) -> bool {
    let same = match (&one.of, &other.of) {
        (Definition::Column(one), Definition::Column(other)) => {
            one.ty == other.ty && one.collation == other.collation
        }
        (Definition::Expression { node: one }, Definition::Expression { node: other }) => {
            one == other
        }
        _ => false,
    };
    same && (one.strategy, one.lane) == (other.strategy, other.lane)
}

/// Returns the vectors of a native type: values, hashes and order, bit for bit.
fn vectors(key: &Planned) -> Option<String> {
    let column = key.column()?;
    column.key_type.as_ref()?;
    let file = format!("tests/vectors/{}.tsv", column.name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(&file).exists().then(|| format!("[vectors](../../{file})"))
}

fn is_spelled(key: &Planned) -> bool {
    key.column().and_then(|column| column.key_type.as_ref()).is_some_and(spelling::tries)
}

/// Whether the key is a native expression. All of these are in the list of tests/expressions.
fn is_native_expression(key: &Planned) -> bool {
    matches!(&key.of, Definition::Expression { node: Some(_) })
}
