//! Limits of the documentation: README is short, and each page of the manual answers the same five questions.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of words of README, as `wc -w` counts them.
const WORDS: usize = 900;

const QUESTIONS: [&str; 5] = [
    "\n## What you type\n",
    "\n## What you get\n",
    "\n## What it guarantees\n",
    "\n## What it needs\n",
    "\n## Limits\n",
];

/// Pages of the manual that do not answer the questions: its index, and generated pages.
const OTHERS: [&str; 2] = ["README.md", "command-line.md"];

#[test]
fn readme_is_short() {
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= WORDS, "README.md has {words} words; {WORDS} at most");
}

#[test]
fn pages_of_the_manual_answer_the_same_questions() {
    for page in pages() {
        let text = read(&page);
        let found = QUESTIONS.map(|question| text.find(question));
        let missing = QUESTIONS.iter().zip(found).filter(|(_, at)| at.is_none()).map(|(it, _)| *it);
        assert_eq!(missing.collect::<String>(), "", "{}", page.display());
        assert!(found.is_sorted(), "{}: in another order than {QUESTIONS:?}", page.display());
    }
}

#[test]
fn the_manual_lists_its_pages() {
    let index = read(&root().join("docs/manual/README.md"));
    for page in pages() {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(
            index.contains(&format!("]({name})")),
            "docs/manual/README.md does not list {name}"
        );
    }
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/manual")).expect("docs/manual is there");
    let files = entries.map(|entry| entry.unwrap().path());
    let pages = files.filter(|file| file.extension().is_some_and(|it| it == "md"));
    pages.filter(|page| !OTHERS.iter().any(|name| page.ends_with(name))).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}
