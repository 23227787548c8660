//! The key types against what PostgreSQL itself answered: `tests/vectors/TYPE.tsv`, written by
//! `scripts/dump_hash_vectors.py`. At least 1,000 spellings of each type must be read natively, to the
//! same value, hash and order, bit for bit; those marked for the server must be left to it.

use std::collections::BTreeSet;
use std::fs;

use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::types::{KeyType, OwnedDatum, Scale};

const TYPES: [&str; 45] = [
    "bool",
    "int2",
    "int4",
    "int8",
    "numeric",
    "float4",
    "float8",
    "oid",
    "pg_lsn",
    "char",
    "name",
    "bytea",
    "text",
    "varchar",
    "bpchar",
    "uuid",
    "macaddr",
    "macaddr8",
    "inet",
    "cidr",
    "date",
    "time",
    "timetz",
    "interval",
    "timestamp",
    "timestamptz",
    "jsonb",
    "int4range",
    "int8range",
    "numrange",
    "daterange",
    "tsrange",
    "tstzrange",
    "_int4",
    "_text",
    "_bpchar",
    "_bytea",
    "_numeric",
    "_timestamptz",
    "_inet",
    "_interval",
    "_uuid",
    "_macaddr8",
    "_int4range",
    "_jsonb",
];

/// One line of a vector file. The server's answer is `None` where it refused the spelling.
struct Vector {
    line: String,
    key_type: KeyType,
    native: bool,
    text: Vec<u8>,
    answer: Option<Answer>,
}

struct Answer {
    binary: Vec<u8>,
    hash_0: u64,
    hash_partition: u64,
}

#[test]
fn every_type_agrees_with_at_least_1000_vectors() {
    for name in TYPES {
        let vectors = read_vectors(name);
        let native = vectors.iter().filter(|vector| vector.native).count();
        // There are no more than 128 values of "char" that mean the same everywhere.
        let enough = if name == "char" { 128 } else { 1000 };
        assert!(native >= enough, "{name}: only {native} native vectors");
        // A text has no spelling that must be left to the server.
        assert!(name == "text" || native < vectors.len(), "{name}: no vectors for the server");
        vectors.iter().for_each(check);
        check_order(&vectors);
    }
}

#[test]
fn every_file_is_of_a_type() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors");
    let entries = fs::read_dir(folder).expect(folder).map(|entry| entry.expect(folder).file_name());
    let files: BTreeSet<String> = entries.map(|name| name.into_string().expect(folder)).collect();
    assert_eq!(files, TYPES.iter().map(|name| format!("{name}.tsv")).collect());
}

fn check(vector: &Vector) {
    let Vector { line, key_type, native, text, answer } = vector;
    let mut scratch = Vec::new();
    let parsed = key_type.parse(text, &mut scratch);
    assert_eq!(parsed.is_some(), *native, "{line}");
    let Some(answer) = answer else {
        assert_eq!(parsed, None, "refused by the server: {line}");
        return;
    };
    let datum = key_type.from_binary(&answer.binary).expect(line);
    let datum = datum.as_datum();
    assert!(parsed.is_none_or(|parsed| parsed == datum), "{parsed:?}: {line}");
    assert_eq!(key_type.hash(datum, 0), answer.hash_0, "{line}");
    assert_eq!(key_type.hash(datum, PARTITION_SEED), answer.hash_partition, "{line}");
}

/// The lines of one session zone are in the server's order, the refused ones last.
fn check_order(vectors: &[Vector]) {
    for vectors in vectors.chunk_by(|a, b| zone(a) == zone(b)) {
        let datums: Vec<OwnedDatum> = vectors.iter().map_while(server_datum).collect();
        for (pair, vector) in datums.windows(2).zip(&vectors[1..]) {
            assert!(pair[0] <= pair[1], "{:?} before {}", pair[0], vector.line);
        }
    }
}

fn server_datum(vector: &Vector) -> Option<OwnedDatum> {
    let answer = vector.answer.as_ref()?;
    vector.key_type.from_binary(&answer.binary)
}

fn zone(vector: &Vector) -> Option<i32> {
    match vector.key_type {
        KeyType::Timetz { zone, .. } | KeyType::Timestamptz { zone, .. } => zone,
        _ => None,
    }
}

fn read_vectors(name: &str) -> Vec<Vector> {
    let path = format!("{}/../../tests/vectors/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
    let file = fs::read_to_string(&path).expect(&path);
    file.split_terminator('\n').skip(1).map(read_vector).collect()
}

fn read_vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split('\t').collect();
    let [declared, zone, lane, text, binary, hash_0, hash_partition] = fields[..] else {
        panic!("not seven fields: {line}")
    };
    let native = match lane {
        "native" => true,
        "server" => false,
        _ => panic!("no such lane: {line}"),
    };
    let answer = (binary != "\\N").then(|| Answer {
        binary: read_hex(binary),
        hash_0: read_hash(hash_0),
        hash_partition: read_hash(hash_partition),
    });
    let key_type = read_type(declared, zone.parse().ok());
    Vector { line: line.to_owned(), key_type, native, text: unescape(text), answer }
}

fn read_type(declared: &str, zone: Option<i32>) -> KeyType {
    let (name, modifiers) = match declared.split_once('(') {
        Some((name, modifiers)) => (name, modifiers.trim_end_matches(')')),
        None => (declared, ""),
    };
    let modifier = modifiers.parse().ok();
    let precision = modifier.map_or(6, |modifier: u32| modifier as u8);
    let range = |subtype| KeyType::Range(read_type(subtype, zone).into());
    match name {
        "bool" => KeyType::Bool,
        "int2" => KeyType::Int2,
        "int4" => KeyType::Int4,
        "int8" => KeyType::Int8,
        "text" => KeyType::Text,
        "varchar" => KeyType::Varchar { max: modifier },
        "bpchar" => KeyType::Bpchar { max: modifier },
        "uuid" => KeyType::Uuid,
        "float4" => KeyType::Float4,
        "float8" => KeyType::Float8,
        "oid" => KeyType::Oid,
        "pg_lsn" => KeyType::PgLsn,
        "char" => KeyType::Char,
        "name" => KeyType::Name,
        "bytea" => KeyType::Bytea,
        "macaddr" => KeyType::Macaddr,
        "macaddr8" => KeyType::Macaddr8,
        "numeric" => KeyType::Numeric { scale: read_scale(modifiers) },
        "inet" => KeyType::Inet,
        "cidr" => KeyType::Cidr,
        "date" => KeyType::Date,
        "time" => KeyType::Time { precision },
        "timetz" => KeyType::Timetz { precision, zone },
        "interval" => KeyType::Interval { precision },
        "timestamp" => KeyType::Timestamp { precision },
        "timestamptz" => KeyType::Timestamptz { precision, zone },
        "jsonb" => KeyType::Jsonb,
        "int4range" => range("int4"),
        "int8range" => range("int8"),
        "numrange" => range("numeric"),
        "daterange" => range("date"),
        "tsrange" => range("timestamp"),
        "tstzrange" => range("timestamptz"),
        _ => match name.strip_prefix('_') {
            Some(element) => KeyType::Array(read_type(element, zone).into()),
            None => panic!("no such type: {declared}"),
        },
    }
}

fn read_scale(modifiers: &str) -> Option<Scale> {
    let (precision, scale) = modifiers.split_once(',')?;
    Some(Scale { precision: precision.parse().ok()?, scale: scale.parse().ok()? })
}

/// The server's hash functions return a signed number.
fn read_hash(text: &str) -> u64 {
    text.parse::<i64>().expect(text) as u64
}

fn read_hex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect(text);
    (0..text.len()).step_by(2).map(byte).collect()
}

/// COPY text's escapes, those that COPY TO writes.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().expect(text) {
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0B,
                other => other,
            },
            plain => plain,
        });
    }
    bytes
}
