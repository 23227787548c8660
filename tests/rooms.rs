//! The rooms of the loader and of a session in their order: each uses only the rooms before it. So there are
//! no cycles, and the code can be read from either end. SQL is in one room of each crate, and in the `sql`
//! modules of features.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::rules::{imported, read, root, rust_files, show, tokens};

/// A crate whose modules are rooms.
struct CrateRooms {
    folder: &'static str,
    /// The rooms, in order from the lowest.
    rooms: &'static [&'static str],
    /// The room with the SQL that several rooms share.
    sql: &'static str,
}

const CRATES: [CrateRooms; 2] = [
    CrateRooms { folder: "crates/session/src", rooms: &SESSION, sql: "connect" },
    CrateRooms { folder: "crates/pgsluice/src", rooms: &LOADER, sql: "pg" },
];

const SESSION: [&str; 8] =
    ["error", "failure", "tls", "conninfo", "lost", "runtime", "template", "connect"];

const LOADER: [&str; 23] = [
    "row_counts",
    "error",
    "testing",
    "control",
    "metrics",
    "source",
    "job",
    "pg",
    "plan",
    "route",
    "ledger",
    "exchange",
    "counts",
    "duplicates",
    "rejects",
    "bucket",
    "sink",
    "gather",
    "writer",
    "inspect",
    "partitions",
    "load",
    "moving",
];

/// Short names that the crates export, each with its room.
const SHORT: [(&str, &str); 3] = [("Error", "error"), ("Kind", "error"), ("Result", "error")];

/// Beginnings of string literals that are sent to the server.
const SQL: [&str; 18] = [
    "ALTER",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DROP",
    "INSERT",
    "LOCK",
    "MERGE",
    "RELEASE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "TRUNCATE",
    "UPDATE",
    "WITH",
];

/// Returns the sources of a crate, each with its path relative to the crate.
fn sources(in_crate: &CrateRooms) -> Vec<(PathBuf, PathBuf)> {
    let folder = root().join(in_crate.folder);
    let files = rust_files(&folder).into_iter();
    files.map(|file| (file.strip_prefix(&folder).expect("a source").to_owned(), file)).collect()
}

fn room_of(place: &Path) -> String {
    let first = place.iter().next().map(Path::new).and_then(Path::file_stem);
    first.expect("a name").to_string_lossy().into_owned()
}

/// Returns a source without its unit tests.
fn code_of(file: &Path) -> String {
    let text = read(file);
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

/// Returns the rooms that a source names.
fn used_in(code: &str) -> BTreeSet<String> {
    let tokens = tokens(code);
    let paths = (0..tokens.len()).filter(|&at| tokens[at..].starts_with(&["crate", "::"]));
    let names = paths.flat_map(|at| imported(&tokens[at + 2..]));
    let short = |name: &str| SHORT.iter().find(|(short, _)| *short == name).map(|(_, room)| *room);
    names.map(|name| short(name).unwrap_or(name).to_owned()).collect()
}

/// Returns the first words of the statements in a source, without comments.
fn sql_in(code: &str) -> Vec<&str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let texts = lines.flat_map(|line| line.split('"').skip(1)).flat_map(|text| text.split("; "));
    let words = texts.filter_map(|text| text.split([' ', ';']).next());
    words.filter(|word| SQL.contains(word)).collect()
}

/// Returns the sources that use a room above their own.
fn upward(in_crate: &CrateRooms) -> Vec<String> {
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for (place, file) in sources(in_crate) {
        let room = room_of(&place);
        if room == "lib" {
            continue;
        }
        let Some(own) = in_crate.rooms.iter().position(|known| *known == room) else {
            wrong.push(format!("{} is in no room of the list", show(&file)));
            continue;
        };
        seen.insert(own);
        let used = used_in(&code_of(&file));
        let not_below = used.iter().filter(|used| !in_crate.rooms[..=own].contains(&used.as_str()));
        wrong.extend(not_below.map(|used| format!("{} uses {used}", show(&file))));
    }
    assert_eq!(seen, (0..in_crate.rooms.len()).collect(), "rooms with something in them");
    wrong
}

#[test]
fn each_room_uses_only_those_before_it() {
    let wrong: Vec<String> = CRATES.iter().flat_map(upward).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sql_is_in_its_own_modules() {
    let mut found = Vec::new();
    for in_crate in CRATES {
        let is_outside = |place: &Path| {
            room_of(place) != in_crate.sql
                && place.iter().nth(1).is_none_or(|folder| folder != "sql")
        };
        for (_, file) in sources(&in_crate).into_iter().filter(|(place, _)| is_outside(place)) {
            let code = code_of(&file);
            found.extend(sql_in(&code).iter().map(|word| format!("{}: {word}", show(&file))));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn uses_of_a_source_are_found() {
    let code =
        "use crate::{\n Result,\n pg::{sql, connect::{self}},\n};\nfn f() { crate::plan::g(); }";
    assert_eq!(used_in(code), ["error", "pg", "plan"].map(str::to_owned).into());
    assert_eq!(sql_in("f(\"SELECT 1\", \"{begin}; LOCK TABLE {table}\")"), ["SELECT", "LOCK"]);
    assert!(sql_in("hint(\"Run it: SELECT 1\")\n// \"SELECT\"").is_empty());
}
