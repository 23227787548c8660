//! The rooms of the loader in the order in which they are built: each uses only those before it, so that
//! there is no circle, and a reader can begin at either end. Whatever is said to the server stands in one of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// From the ground up.
const ROOMS: [&str; 19] = [
    "error",
    "testing",
    "control",
    "source",
    "config",
    "pg",
    "plan",
    "route",
    "ledger",
    "exchange",
    "counts",
    "rejects",
    "bucket",
    "atomic",
    "sink",
    "inspect",
    "partitions",
    "load",
    "embedded",
];

/// What the crate gives out by a shorter name, and the room where it stands.
const SHORT: [(&str, &str); 3] = [("Error", "error"), ("Kind", "error"), ("Result", "error")];

/// A path that begins at the crate, or several that share this beginning.
static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bcrate::(?:(\w+)|\{([^;]*)\};)").expect("a pattern"));

/// A literal that is sent to the server.
static SQL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r#""(?:[^"]*; )?\s*(?:SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|LOCK|CREATE|ALTER|DROP|TRUNCATE|SET|"#,
        r"ANALYZE|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b"
    ))
    .expect("a pattern")
});

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pgsluice/src")
}

/// The files of a folder and of all below it.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| files_of(folder))).collect()
}

/// A source without its comments and unit tests.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The rooms that a source names.
fn used_in(code: &str) -> BTreeSet<String> {
    let first = |path: &str| {
        let name = path.trim().split("::").next().unwrap_or_default().to_owned();
        SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, room)| (*room).to_owned())
    };
    let mut used = BTreeSet::new();
    for found in USE.captures_iter(code) {
        match (found.get(1), found.get(2)) {
            (Some(path), _) => _ = used.insert(first(path.as_str())),
            (None, Some(paths)) => used.extend(top_level(paths.as_str()).map(|path| first(&path))),
            (None, None) => {}
        }
    }
    used
}

/// The parts of a list with commas that stand in no braces of their own.
fn top_level(list: &str) -> impl Iterator<Item = String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                parts.last_mut().expect("a part").push(letter);
            }
        }
    }
    parts.into_iter().filter(|part| !part.trim().is_empty())
}

#[test]
fn each_room_uses_only_those_before_it() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for file in files_of(&sources()) {
        let place = file.strip_prefix(sources()).expect("a source").to_owned();
        let room = place.iter().next().map(Path::new).and_then(Path::file_stem).expect("a name");
        let room = room.to_string_lossy();
        if room == "lib" {
            continue;
        }
        let Some(own) = ROOMS.iter().position(|known| *known == room) else {
            wrong.push(format!("{} stands in no room of the list", place.display()));
            continue;
        };
        seen.insert(own);
        let later = |used: &String| ROOMS[own + 1..].contains(&used.as_str());
        let unknown = |used: &String| !ROOMS.contains(&used.as_str());
        for used in used_in(&code_of(&file)).iter().filter(|used| later(used) || unknown(used)) {
            wrong.push(format!("{} uses {used}", place.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let empty: Vec<_> = (0..ROOMS.len()).filter(|room| !seen.contains(room)).collect();
    assert!(empty.is_empty(), "there is nothing in the rooms {empty:?}");
}

#[test]
fn all_sql_stands_in_one_room() {
    let files =
        files_of(&sources()).into_iter().filter(|file| !file.starts_with(sources().join("pg")));
    let with_sql: Vec<_> = files
        .flat_map(|file| {
            let lines = code_of(&file);
            let found = SQL.find_iter(&lines).map(|found| found.as_str().to_owned());
            found.map(|sql| format!("{}: {sql}", file.display())).collect::<Vec<_>>()
        })
        .collect();
    assert!(with_sql.is_empty(), "SQL outside of pg:\n{}", with_sql.join("\n"));
}

#[test]
fn what_a_source_uses_is_found() {
    let code = "use crate::{\n    Result,\n    pg::{sql, connect::{self}},\n};\nfn f() { crate::plan::g(); }";
    assert_eq!(used_in(code), ["error", "pg", "plan"].map(str::to_owned).into());
    assert!(SQL.is_match("client.execute(\"SELECT 1\")"));
    assert!(SQL.is_match("format!(\"{begin}; LOCK TABLE {table}\")"));
    assert!(!SQL.is_match("hint(\"Run it: SELECT 1\")"));
}
