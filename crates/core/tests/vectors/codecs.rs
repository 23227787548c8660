//! The vectors of the key types, for the codecs: unless a value is left to the server, their bytes are those
//! that the server's send function wrote.

use pgsluice_core::types::{Codec, KeyType, OwnedDatum};

use super::TYPES;
use super::file::{Vector, read_vectors};

#[test]
fn every_native_vector_is_encoded_as_the_server_sends_it() {
    for name in TYPES {
        let vectors = read_vectors(name);
        let same = vectors.iter().filter(|vector| check(vector)).count();
        let canonical = name.contains("range") || name.ends_with("jsonb");
        let enough = if name == "char" { 128 } else { 200 };
        assert!(canonical || same >= enough, "{name}: only {same} vectors are compared");
    }
}

/// A key in binary equals the key from its text, and the server's own value.
#[test]
fn every_vector_is_received_as_it_is_read() {
    for name in TYPES {
        let vectors = read_vectors(name);
        let received = vectors.iter().filter(|vector| check_received(vector)).count();
        let enough = if name == "char" { 128 } else { 1000 };
        assert!(received >= enough, "{name}: only {received} vectors are received");
    }
}

/// Returns whether the value was received.
fn check_received(vector: &Vector) -> bool {
    let Vector { line, key_type, text, answer, .. } = vector;
    let server = answer.as_ref().map(|answer| key_type.from_binary(&answer.binary).expect(line));
    if let Some(answer) = answer {
        let mut scratch = Vec::new();
        let received = key_type.receive(&answer.binary, &mut scratch).map(OwnedDatum::from);
        assert_eq!(received, server, "as it is sent: {line}");
    }
    let mut field = Vec::new();
    if codec(key_type).encode(text, &mut field).is_none() {
        return false;
    }
    let (mut scratch, mut other) = (Vec::new(), Vec::new());
    let received = key_type.receive(&field[4..], &mut scratch);
    if let Some(parsed) = key_type.parse(text, &mut other) {
        assert_eq!(received, Some(parsed), "{line}");
    }
    let received = received.map(OwnedDatum::from);
    assert!(received.is_none() || received == server || server.is_none(), "{received:?}: {line}");
    received.is_some()
}

/// Returns whether the bytes were compared.
fn check(vector: &Vector) -> bool {
    let Vector { line, key_type, native, text, answer } = vector;
    let mut field = Vec::new();
    let encoded = codec(key_type).encode(text, &mut field);
    assert!(encoded.is_some() || !native, "{line}");
    let Some(answer) = answer.as_ref().filter(|_| encoded.is_some() && is_sent(vector)) else {
        return false;
    };
    let (length, value) = field.split_first_chunk().expect(line);
    assert_eq!(usize::try_from(i32::from_be_bytes(*length)), Ok(value.len()), "{line}");
    assert_eq!(value, answer.binary, "{line}");
    true
}

/// Whether the server sends the value unchanged: no modifier applies, every spelling has one canonical form,
/// and it is not a numeric without digits, of which the server sends more than it reads.
fn is_sent(vector: &Vector) -> bool {
    let declared = vector.line.split('\t').next().unwrap_or_default();
    let of = match &vector.key_type {
        KeyType::Array(element) => element,
        other => other,
    };
    match of {
        KeyType::Jsonb | KeyType::Range(_) => false,
        KeyType::Numeric { .. } if vector.text.to_ascii_lowercase().contains(&b'n') => false,
        _ => !declared.contains('('),
    }
}

fn codec(key_type: &KeyType) -> Codec {
    match key_type {
        KeyType::Bool => Codec::Bool,
        KeyType::Int2 => Codec::Int2,
        KeyType::Int4 => Codec::Int4,
        KeyType::Int8 => Codec::Int8,
        KeyType::Numeric { .. } => Codec::Numeric,
        KeyType::Float4 => Codec::Float4,
        KeyType::Float8 => Codec::Float8,
        KeyType::Oid => Codec::Oid,
        KeyType::PgLsn => Codec::PgLsn,
        KeyType::Char => Codec::Char,
        KeyType::Name => Codec::Name,
        KeyType::Bytea => Codec::Bytea,
        KeyType::Text | KeyType::Varchar { .. } | KeyType::Bpchar { .. } | KeyType::Enum(_) => {
            Codec::Text
        }
        KeyType::Uuid => Codec::Uuid,
        KeyType::Macaddr => Codec::Macaddr,
        KeyType::Macaddr8 => Codec::Macaddr8,
        KeyType::Inet => Codec::Inet,
        KeyType::Cidr => Codec::Cidr,
        KeyType::Date => Codec::Date,
        KeyType::Time { .. } => Codec::Time,
        KeyType::Timetz { zone, .. } => Codec::Timetz { zone: *zone },
        KeyType::Interval { .. } => Codec::Interval,
        KeyType::Timestamp { .. } => Codec::Timestamp,
        KeyType::Timestamptz { zone, .. } => Codec::Timestamptz { zone: *zone },
        KeyType::Jsonb => Codec::Jsonb,
        KeyType::Range(subtype) => Codec::Range(codec(subtype).into()),
        KeyType::Array(element) => {
            let (oid, element) = (oid(element), codec(element).into());
            Codec::Array { oid, delimiter: b',', element }
        }
    }
}

/// Returns `pg_type.oid` of an element type of the arrays with vectors.
fn oid(element: &KeyType) -> u32 {
    match element {
        KeyType::Bytea => 17,
        KeyType::Int4 => 23,
        KeyType::Text => 25,
        KeyType::Macaddr8 => 774,
        KeyType::Inet => 869,
        KeyType::Bpchar { .. } => 1042,
        KeyType::Timestamptz { .. } => 1184,
        KeyType::Interval { .. } => 1186,
        KeyType::Numeric { .. } => 1700,
        KeyType::Uuid => 2950,
        KeyType::Jsonb => 3802,
        KeyType::Range(_) => 3904,
        other => panic!("no vectors of arrays of {other:?}"),
    }
}
