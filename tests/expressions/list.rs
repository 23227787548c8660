//! The expressions that are tried, and the check that they include everything that can be evaluated.

use std::fs;
use std::path::Path;

use pgsluice_core::expr::{Expr, ExtractField, TruncUnit};
use pgsluice_core::types::KeyType;

const PLAIN: [&str; 49] = [
    "lower(left(id::text, 1))",
    "upper(id::text)",
    "lower(ok::text)",
    "lower(word)",
    "upper(word)",
    "lower(note)",
    "upper(pad)",
    "lower(tag::text)",
    "lower(left(word, 2) COLLATE \"POSIX\")",
    "left(word, 3)",
    "left(word, i)",
    "left(word, -2)",
    "right(word, 3)",
    "right(word, j)",
    "right(note, -1)",
    "substr(word, 2)",
    "substr(word, i)",
    "substr(word, 2, 3)",
    "substr(upper(word), i, j)",
    "substring(word, -1, 4)",
    "substring(word FROM 2 FOR 3)",
    "substring(note FROM s)",
    "left(i::text, b::int)",
    "right(id::text, n::int)",
    "i + j",
    "s + i",
    "b - s",
    "i * j",
    "s * s",
    "b * c",
    "b / c",
    "i / j",
    "s / b",
    "b % c",
    "i % j",
    "s % s",
    "mod(b, 7)",
    "(i + b) % 16",
    "-i",
    "-b",
    "- (s / 2)",
    "abs(i)",
    "abs(b)",
    "abs(s)",
    "coalesce(i, j, 7)",
    "coalesce(NULL::int, i / j, s)",
    "coalesce(n, m, -1.50)",
    "coalesce(word, lower(note), 'x')",
    "coalesce(ts, day::timestamp, '2000-01-01')",
];

const TIMES: [&str; 8] = [
    "tz AT TIME ZONE 'UTC'",
    "tz AT TIME ZONE 'Etc/GMT-14'",
    "ts AT TIME ZONE 'Etc/GMT+12'",
    "coalesce(tz, ts AT TIME ZONE 'UTC')",
    "date_trunc('month', tz AT TIME ZONE 'UTC')",
    "date_part('hour', clock)::int",
    "coalesce(clock, ts::time)",
    "coalesce(ok, i::bool)",
];

const FROM_14: [&str; 4] = [
    "date_bin('7 hours', ts, '2000-01-01 02:00')",
    "date_bin('1 day 00:00:00.000001', ts, '0001-01-01')",
    "date_bin('00:00:00.000001', ts, '0001-01-01')",
    "extract(year FROM ts)::smallint",
];

/// Returns all expressions to try on a server of this version.
pub(crate) fn expressions(major: u32) -> Vec<String> {
    let mut all: Vec<String> = PLAIN.iter().chain(&TIMES).map(ToString::to_string).collect();
    all.extend(casts());
    for (unit, _) in TruncUnit::ALL {
        all.push(format!("date_trunc('{unit}', ts)"));
    }
    for (field, _) in ExtractField::ALL {
        for column in columns_with(field) {
            // Before 14, EXTRACT was date_part.
            all.push(format!("date_part('{field}', {column})"));
            all.push(format!("extract({field} FROM {column})"));
        }
        if Expr::part(column(KeyType::Date), named(field)).is_some() {
            all.push(format!("date_part('{field}', day)"));
        }
    }
    if major >= 14 {
        all.extend(FROM_14.map(String::from));
    }
    all
}

fn columns_with(field: &str) -> Vec<&'static str> {
    let columns = [
        ("ts", KeyType::Timestamp { precision: 6 }),
        ("clock", KeyType::Time { precision: 6 }),
        ("day", KeyType::Date),
    ];
    let known = |(_, ty): &(_, KeyType)| column(ty.clone()).extract(named(field)).is_some();
    columns.into_iter().filter(known).map(|(name, _)| name).collect()
}

fn named(field: &str) -> ExtractField {
    ExtractField::from_name(field).expect("a field")
}

fn column(ty: KeyType) -> Expr {
    Expr::column(0, ty).expect("a type of expressions")
}

/// Returns every known cast, of a column of its type.
fn casts() -> Vec<String> {
    let types = [
        ("s", "smallint", KeyType::Int2),
        ("i", "integer", KeyType::Int4),
        ("b", "bigint", KeyType::Int8),
        ("n", "numeric", KeyType::Numeric { scale: None }),
        ("f", "real", KeyType::Float4),
        ("g", "double precision", KeyType::Float8),
        ("ok", "boolean", KeyType::Bool),
        ("word", "text", KeyType::Text),
        ("note", "varchar", KeyType::Varchar { max: None }),
        ("pad", "bpchar", KeyType::Bpchar { max: None }),
        ("tag", "name", KeyType::Name),
        ("id", "uuid", KeyType::Uuid),
        ("day", "date", KeyType::Date),
        ("ts", "timestamp", KeyType::Timestamp { precision: 6 }),
        ("tz", "timestamptz", KeyType::Timestamptz { precision: 6, zone: None }),
        ("clock", "time", KeyType::Time { precision: 6 }),
    ];
    let mut casts = Vec::new();
    for (name, _, from) in &types {
        for (_, to_name, to) in &types {
            if from != to && column(from.clone()).cast(to).is_some() {
                casts.push(format!("{name}::{to_name}"));
            }
        }
    }
    casts
}

/// Checks that each kind of node and each function is in one of `tried`, the debug forms of the expressions.
pub(super) fn must_cover_all(tried: &[String]) {
    let mut missing = Vec::new();
    for (file, name, before) in [
        ("mod.rs", "enum ExprNode", "node: "),
        ("cast.rs", "enum Cast", "Cast("),
        ("string.rs", "enum Case", "Case("),
        ("string.rs", "enum Cut", "Cut("),
        ("arithmetic.rs", "enum Operator", "Arithmetic("),
        ("time.rs", "enum TruncUnit", "Truncate("),
        ("time.rs", "enum ExtractField", "Part("),
    ] {
        let variants = variants(file, name);
        assert!(variants.len() > 1, "{file} has {name}");
        missing.extend(variants.into_iter().map(|variant| format!("{before}{variant}")).filter(
            |part| {
                let end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric());
                let has = |text: &String| text.split(part.as_str()).skip(1).any(end);
                !tried.iter().any(has)
            },
        ));
    }
    assert!(missing.is_empty(), "no expression of the list has {missing:?}");
}

/// Returns the variants of an enum, read from its source.
fn variants(file: &str, name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/expr");
    let source = fs::read_to_string(folder.join(file)).expect("a source file");
    let (_, rest) = source.split_once(&format!("{name} {{\n")).expect("the enum");
    let (body, _) = rest.split_once("\n}\n").expect("its end");
    let begins = |line: &&str| {
        line.strip_prefix("    ").is_some_and(|line| line.starts_with(char::is_uppercase))
    };
    let word = |line: &str| line.trim().chars().take_while(|c| c.is_alphanumeric()).collect();
    body.lines().filter(begins).map(word).collect()
}
