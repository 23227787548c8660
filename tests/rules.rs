//! The rules of the code, enforced by tests: the allowed dependencies between crates, the effects that the
//! pure core must not have, and that every file is small and describes its content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pgsluice::testing::failpoint::NAMES;
use serde::Deserialize;

/// Each crate with the workspace crates on which it is built; tests may use any lower one.
const LAYERS: [(&str, &[&str]); 9] = [
    ("pgsluice-core", &[]),
    ("pgsluice-arrow", &["pgsluice-core"]),
    ("pgsluice-json", &["pgsluice-core"]),
    ("pgsluice-session", &["pgsluice-core"]),
    ("pgsluice-objects", &[]),
    ("pgsluice-embedded", &["pgsluice-session"]),
    (
        "pgsluice",
        &[
            "pgsluice-core",
            "pgsluice-json",
            "pgsluice-arrow",
            "pgsluice-session",
            "pgsluice-objects",
        ],
    ),
    ("pgsluice-cli", &["pgsluice", "pgsluice-embedded"]),
    ("pgsluice-py", &["pgsluice", "pgsluice-embedded", "pgsluice-cli"]),
];

/// The libraries that the core may use, which only compute.
const PURE: [&str; 3] = ["memchr", "siphasher", "wide"];

/// The crates that have no effects outside themselves.
const WITHOUT_EFFECTS: [&str; 3] = ["crates/core/src", "crates/json/src", "crates/arrow/src"];

/// The default features, in addition to the code that is always built.
const FORMATS: [&str; 3] = ["arrow", "objects", "parquet"];

/// Parts of the standard library with effects outside the program.
const EFFECTS: [&str; 7] = ["env", "fs", "net", "os", "process", "thread", "time"];

const LONGEST: usize = 400;

/// Files that may be longer than [`LONGEST`], each with its reason.
const LONG: [(&str, &str); 0] = [];

#[test]
fn crates_depend_one_way() {
    let packages = packages();
    let found: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(found, LAYERS.iter().map(|(name, _)| *name).collect(), "crates of the workspace");
    for (layer, (name, allowed)) in LAYERS.iter().enumerate() {
        let package = named(&packages, name);
        let built_on = local(package, |it| !it.is_for_tests());
        assert_eq!(built_on, allowed.iter().copied().collect(), "{name} is built on");
        let lower: BTreeSet<&str> = LAYERS[..layer].iter().map(|(name, _)| *name).collect();
        let tested_with = local(package, Dependency::is_for_tests);
        assert!(tested_with.is_subset(&lower), "{name} is tested with {tested_with:?}");
    }
}

#[test]
fn the_core_uses_pure_libraries_only() {
    let packages = packages();
    let impure: Vec<&str> = named(&packages, "pgsluice-core")
        .dependencies
        .iter()
        .filter(|dependency| !dependency.is_for_tests())
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !PURE.contains(name))
        .collect();
    assert!(impure.is_empty(), "pgsluice-core depends on {impure:?}; pure are {PURE:?}");
}

#[test]
fn the_pure_crates_have_no_effects() {
    let mut found = Vec::new();
    for file in WITHOUT_EFFECTS.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        found.extend(
            effects(&read(&file)).into_iter().map(|what| format!("{}: {what}", show(&file))),
        );
    }
    assert!(found.is_empty(), "a pure crate reaches outside itself:\n{}", found.join("\n"));
}

#[test]
fn effects_are_seen_in_every_spelling() {
    for (source, expected) in [
        ("use std::fs::File;", vec!["std::fs"]),
        ("let now = ::std::time::Instant::now();", vec!["std::time"]),
        ("use std::{fmt, io::{self, net}, thread::{self}};", vec!["std::thread"]),
        ("use std :: {\n    net, // and so on\n};", vec!["std::net"]),
        ("async fn read() {}", vec!["async"]),
        ("tokio::spawn(task);", vec!["tokio"]),
        ("use std::fmt; // not std::fs\n//! nor async", vec![]),
        ("fn asynchronous(filesystem: std::string::String) {}", vec![]),
    ] {
        assert_eq!(effects(source), expected, "{source}");
    }
}

#[test]
fn files_say_what_lives_in_them() {
    let silent: Vec<String> = all_rust_files()
        .iter()
        .filter(|file| !read(file).starts_with("//! "))
        .map(|file| show(file))
        .collect();
    assert!(silent.is_empty(), "without an opening `//!`:\n{}", silent.join("\n"));
}

#[test]
fn files_are_small() {
    let mut long: BTreeMap<String, usize> = BTreeMap::new();
    for file in all_rust_files() {
        let lines = read(&file).lines().count();
        if lines > LONGEST {
            long.insert(show(&file), lines);
        }
    }
    let found: BTreeSet<&str> = long.keys().map(String::as_str).collect();
    let listed: BTreeSet<&str> = LONG.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, listed, "files over {LONGEST} lines, and those listed in LONG: {long:?}");
}

/// Only `on_each_server!` knows servers, so that each test runs on all of them and skipped tests are counted.
#[test]
fn only_the_harness_knows_servers() {
    let harness = root().join("tests/harness");
    for file in rust_files(&root().join("tests")) {
        let is_told = ["main.rs", "rules.rs"].iter().any(|name| file.ends_with(name));
        if is_told || file.starts_with(&harness) {
            continue;
        }
        let source = read(&file);
        for word in ["to_try", "TEST_MAJORS", "TEST_URL", "TEST_BIN", "TEST_SKIPS"] {
            assert!(
                !source.contains(word),
                "{}: {word} belongs in tests/harness only",
                show(&file)
            );
        }
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for package in packages() {
        let manifest = read(&package.manifest_path);
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints", package.name);
    }
}

#[test]
fn failpoints_are_listed_and_compiled_out() {
    let mut found = Vec::new();
    for file in rust_files(&root().join("crates/pgsluice/src")) {
        let source = read(&file);
        let calls = source.split("failpoint(\"").skip(1);
        found.extend(calls.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    found.sort();
    // Loads, writers and relays reach some of them.
    found.dedup();
    let mut listed = NAMES.map(str::to_owned);
    listed.sort();
    assert_eq!(found, listed, "failpoints in the source, and those listed");
    for package in packages() {
        let default = package.features.get("default").into_iter().flatten();
        let is_format = |name: &&String| FORMATS.contains(&name.as_str());
        assert_eq!(default.filter(|name| !is_format(name)).count(), 0, "{}", package.name);
        // The default features are formats.
        let is_known = |name: &&String| is_format(name) || *name == "default";
        let asks = package
            .dependencies
            .iter()
            .filter(|it| it.path.is_some() && it.features.iter().any(|name| !is_known(&name)));
        assert!(asks.clone().all(Dependency::is_for_tests), "{}", package.name);
    }
}

#[test]
fn libraries_are_declared_once_and_used() {
    let used: BTreeSet<String> = packages()
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.clone())
        .collect();
    assert_eq!(used, declared(), "used by a crate, and declared in [workspace.dependencies]");
}

#[test]
fn every_library_has_a_purpose() {
    let document = fs::read_to_string(root().join("docs/libraries.md")).unwrap_or_default();
    let named: BTreeSet<&str> =
        document.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).collect();
    let missing: Vec<String> =
        declared().into_iter().filter(|name| !named.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/libraries.md does not say what these are for: {missing:?}");
}

/// Returns the `std` modules of [`EFFECTS`] that `source` uses, and signs of an async runtime.
fn effects(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if ["async", "tokio"].contains(token) {
            found.push((*token).to_string());
        }
        if *token == "std" && tokens.get(at + 1) == Some(&"::") {
            let modules = imported(&tokens[at + 2..]).into_iter();
            found.extend(
                modules.filter(|name| EFFECTS.contains(name)).map(|name| format!("std::{name}")),
            );
        }
    }
    found
}

/// Returns the names that follow `std::` directly: one, or the first level of a `{...}` list.
pub(crate) fn imported<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    if tokens.first() != Some(&"{") {
        return tokens.first().copied().into_iter().collect();
    }
    let (mut names, mut depth, mut previous) = (Vec::new(), 0, "");
    for &token in tokens {
        match token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && ["{", ","].contains(&previous) => names.push(token),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        previous = token;
    }
    names
}

/// Returns the words, `::` and single symbols of the source, without line comments and blanks.
pub(crate) fn tokens(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in source.lines() {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ => rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()),
            };
            let (token, after) = rest.split_at(length.max(first.len_utf8()));
            tokens.push(token);
            rest = after.trim_start();
        }
    }
    tokens
}

/// The output of `cargo metadata`. Its own library would turn on features of serde, and so all of the program would
/// be compiled again for the Python package.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    features: BTreeMap<String, Vec<String>>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; absent for a normal dependency.
    kind: Option<String>,
    path: Option<PathBuf>,
    features: Vec<String>,
}

impl Dependency {
    fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// Returns the crates of the workspace.
fn packages() -> Vec<Package> {
    let arguments = ["metadata", "--locked", "--no-deps", "--format-version=1"];
    let printed = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    serde_json::from_slice::<Metadata>(&printed.stdout).unwrap().packages
}

fn named<'a>(packages: &'a [Package], name: &str) -> &'a Package {
    packages.iter().find(|package| package.name == name).unwrap()
}

/// Returns the workspace crates on which a crate depends, for the requested kinds of dependencies.
fn local(package: &Package, is_wanted: impl Fn(&Dependency) -> bool) -> BTreeSet<&str> {
    let local = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    local.filter(|dependency| is_wanted(dependency)).map(|it| it.name.as_str()).collect()
}

/// Returns the names in `[workspace.dependencies]`.
fn declared() -> BTreeSet<String> {
    let manifest = read(&root().join("Cargo.toml"));
    let (_, section) = manifest.split_once("[workspace.dependencies]\n").unwrap();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_string()).collect()
}

fn all_rust_files() -> Vec<PathBuf> {
    ["crates", "tests"].iter().flat_map(|folder| rust_files(&root().join(folder))).collect()
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn show(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
