//! The key types compared with PostgreSQL's own answers: `tests/vectors/TYPE.tsv`, written by
//! `scripts/dump_hash_vectors.py`. At least 1,000 spellings of each type must be read natively, with the same
//! value, hash and order, bit for bit. Spellings marked for the server must be left to it.

mod codecs;
mod file;

use std::collections::BTreeSet;
use std::fs;

use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::types::{KeyType, OwnedDatum};

use self::file::{Vector, read_vectors};

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

#[test]
fn every_type_agrees_with_at_least_1000_vectors() {
    for name in TYPES {
        let vectors = read_vectors(name);
        let native = vectors.iter().filter(|vector| vector.native).count();
        // At most 128 values of "char" have the same meaning everywhere.
        let enough = if name == "char" { 128 } else { 1000 };
        assert!(native >= enough, "{name}: only {native} native vectors");
        // Every spelling of a text is read natively.
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

/// Checks that the lines of one session time zone are in the server's order, with refused values last.
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
