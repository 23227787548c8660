//! The proof of docs/manual/routing.md: the catalogue of a live server decides the lane of each key, and the
//! document names the other tests that prove it. The document's tables are generated from this.
//!
//! It runs only on the newest server, which has all types. `make lanes` writes the document.

mod document;
mod planned;
mod proofs;
mod subjects;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use self::document::{lanes, plain, splice, table};
use self::planned::{Database, Lane};
use self::proofs::Proofs;
use self::subjects::{Keys, Subject};
use crate::expressions::list;
use crate::harness::{Server, on_each_server};
use crate::markdown::code;

/// The environment variable that makes the test write the document instead of comparing it.
const WRITE: &str = "PGSLUICE_WRITE_LANES";

/// A line of the document: keys that take the same lanes for the same reasons.
struct Line {
    names: Vec<String>,
    keys: Keys,
    proofs: Vec<String>,
}

on_each_server!([the_document_says_what_is_planned, the_document_says_what_is_planned_of_icu,]);

fn the_document_says_what_is_planned(server: Server) {
    if server.major() != 18 {
        return server.skip("the document is of 18");
    }

    // The collation of one database is the builtin provider's, that of the other belongs to a language.
    let mut bytewise = Database::new(server, None);
    let mut language = Database::new(server, Some("C.UTF-8"));
    let mut types = subjects::types(&mut bytewise);
    types.sort_by_key(|Subject { name, keys }| (lanes(keys).into_iter().max(), name.clone()));
    let mut collations = subjects::collations(&mut bytewise);
    collations.extend(subjects::for_database(&mut bytewise));
    collations.extend(subjects::for_database(&mut language));
    let expressions = subjects::expressions(&mut bytewise, server.major());
    must_be_tried(&expressions, &list::expressions(server.major()));
    let proofs = Proofs::find(server, &mut bytewise, &mut language);
    compare(&[
        ("types", table("type", &lines(types, &proofs), plain)),
        ("collations", table("type and collation", &lines(collations, &proofs), plain)),
        ("expressions", table("expression", &join_alike(lines(expressions, &proofs)), code)),
    ]);
}

fn the_document_says_what_is_planned_of_icu(server: Server) {
    if server.major() != 18 {
        return server.skip("the document is of 18");
    }

    let mut database = Database::new(server, Some("C.UTF-8"));
    if !subjects::has_icu(&database.session) {
        return server.skip("the server is built without ICU");
    }
    let collations = subjects::for_icu(&mut database);
    let proofs = Proofs::for_icu(server, &mut database);
    compare(&[("icu", table("type and collation", &lines(collations, &proofs), plain))]);
}

/// Returns each subject with its proof. A native subject must have one.
fn lines(subjects: Vec<Subject>, proofs: &Proofs) -> Vec<Line> {
    let line = |Subject { name, keys }| {
        let found = proofs.list(&keys);
        let native = lanes(&keys).contains(&Some(Lane::Native));
        assert!(!native || !found.is_empty(), "nothing proves that {name} is native");
        Line { names: vec![name], keys, proofs: found }
    };
    subjects.into_iter().map(line).collect()
}

/// Joins expressions into one line if they are of one kind and have the same lanes and proofs.
fn join_alike(lines: Vec<Line>) -> Vec<Line> {
    let mut joined: Vec<Line> = Vec::new();
    for mut line in lines {
        match joined.iter_mut().find(|other| other.is_like(&line)) {
            Some(other) => other.names.append(&mut line.names),
            None => joined.push(line),
        }
    }
    for line in &mut joined {
        let mut seen = HashSet::new();
        line.names.retain(|name| seen.insert(name.clone()));
    }
    joined
}

impl Line {
    fn is_like(&self, other: &Self) -> bool {
        (lanes(&self.keys), &self.proofs, self.kind())
            == (lanes(&other.keys), &other.proofs, other.kind())
    }

    /// Returns the kind of a native subject: the function's name, or the value that is cast. Returns "" for
    /// all others.
    fn kind(&self) -> &str {
        let name = &self.names[0];
        let is_native = lanes(&self.keys).contains(&Some(Lane::Native));
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        match end.filter(|&end| is_native && name[end..].starts_with(['(', ':'])) {
            Some(end) => &name[..=end],
            None => "",
        }
    }
}

/// Checks that an expression is native if and only if it is among the `tried`, whose values are compared with
/// the server's.
fn must_be_tried(expressions: &[Subject], tried: &[String]) {
    for Subject { name, keys } in expressions {
        let native = lanes(keys).contains(&Some(Lane::Native));
        assert_eq!(
            native,
            tried.contains(name),
            "{name}: native, and in tests/expressions/list.rs"
        );
    }
}

/// Compares the tables with the tables of the same names in the document.
fn compare(tables: &[(&str, String)]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/routing.md");
    let text = fs::read_to_string(&file).expect("docs/manual/routing.md is read");
    let right = tables.iter().fold(text.clone(), |text, (name, table)| splice(&text, name, table));
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, right).expect("docs/manual/routing.md is written");
        return;
    }
    let differs = text.lines().zip(right.lines()).find(|(written, found)| written != found);
    assert!(
        text == right,
        "docs/manual/routing.md differs, first in {differs:?}; `make lanes` writes it"
    );
}
