//! Any bytes into every key type, as text and as binary: nothing panics, a spelling always means the
//! same, and a datum survives its binary form, its owned form and hashing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::types::{Datum, KeyType, OwnedDatum};

fuzz_target!(|input: (u8, Option<u32>, Option<i32>, &[u8])| {
    let (precision, max, zone, bytes) = input;
    for key_type in [
        KeyType::Bool,
        KeyType::Int2,
        KeyType::Int4,
        KeyType::Int8,
        KeyType::Text,
        KeyType::Varchar { max },
        KeyType::Bpchar { max },
        KeyType::Uuid,
        KeyType::Date,
        KeyType::Timestamp { precision },
        KeyType::Timestamptz { precision, zone },
    ] {
        if let Some(datum) = key_type.from_binary(bytes) {
            check_datum(key_type, datum);
        }
        if let Some(datum) = key_type.parse(bytes) {
            assert_eq!(key_type.parse(bytes), Some(datum));
            check_datum(key_type, datum);
        }
    }
});

fn check_datum(key_type: KeyType, datum: Datum<'_>) {
    let owned = OwnedDatum::from(datum);
    assert_eq!(owned.as_datum(), datum);
    let binary = encode(key_type, datum);
    let decoded = key_type.from_binary(&binary);
    assert_eq!(decoded, Some(datum), "{key_type:?}");
    for seed in [0, PARTITION_SEED] {
        let hash = key_type.hash(datum, seed);
        assert_eq!(decoded.map(|decoded| key_type.hash(decoded, seed)), Some(hash));
    }
}

fn encode(key_type: KeyType, datum: Datum<'_>) -> Vec<u8> {
    match (key_type, datum) {
        (KeyType::Bool, Datum::Int(value)) => vec![value as u8],
        (KeyType::Int2, Datum::Int(value)) => (value as i16).to_be_bytes().into(),
        (KeyType::Int4 | KeyType::Date, Datum::Int(value)) => (value as i32).to_be_bytes().into(),
        (_, Datum::Int(value)) => value.to_be_bytes().into(),
        (_, Datum::Uuid(value)) => value.to_be_bytes().into(),
        (_, Datum::Bytes(bytes)) => bytes.into(),
    }
}
