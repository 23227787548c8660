//! Any bytes into every key type, as text and as binary: nothing panics, a spelling always has the same
//! value, and a datum is unchanged by its binary form, its owned form and hashing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::types::{Datum, KeyType, Labels, OwnedDatum, Scale};

fuzz_target!(|input: (u8, Option<u32>, Option<i32>, &[u8])| {
    let (precision, max, zone, bytes) = input;
    let scale = max.map(|max| Scale { precision: (max >> 16) as i32, scale: (max as i16).into() });
    let labels = Labels::new(vec![("a".to_owned(), 3), (String::new(), 1)]);
    let scalars = [
        KeyType::Bool,
        KeyType::Int2,
        KeyType::Int4,
        KeyType::Int8,
        KeyType::Numeric { scale },
        KeyType::Float4,
        KeyType::Float8,
        KeyType::Oid,
        KeyType::PgLsn,
        KeyType::Char,
        KeyType::Name,
        KeyType::Bytea,
        KeyType::Macaddr,
        KeyType::Macaddr8,
        KeyType::Inet,
        KeyType::Cidr,
        KeyType::Enum(labels),
        KeyType::Time { precision },
        KeyType::Timetz { precision, zone },
        KeyType::Interval { precision },
        KeyType::Text,
        KeyType::Varchar { max },
        KeyType::Bpchar { max },
        KeyType::Uuid,
        KeyType::Date,
        KeyType::Timestamp { precision },
        KeyType::Timestamptz { precision, zone },
        KeyType::Jsonb,
        KeyType::Range(KeyType::Int4.into()),
        KeyType::Range(KeyType::Int8.into()),
        KeyType::Range(KeyType::Date.into()),
        KeyType::Range(KeyType::Numeric { scale: None }.into()),
        KeyType::Range(KeyType::Timestamp { precision }.into()),
        KeyType::Range(KeyType::Timestamptz { precision, zone }.into()),
    ];
    let arrays = scalars.clone().map(|element| KeyType::Array(element.into()));
    for key_type in scalars.into_iter().chain(arrays) {
        if let Some(datum) = key_type.from_binary(bytes) {
            check_datum(&key_type, datum.as_datum());
        }
        let (mut scratch, mut again) = (Vec::new(), Vec::new());
        if let Some(datum) = key_type.receive(bytes, &mut scratch) {
            assert_eq!(key_type.receive(bytes, &mut again), Some(datum));
            assert_eq!(key_type.from_binary(bytes), Some(OwnedDatum::from(datum)));
        }
        let (mut scratch, mut again) = (Vec::new(), bytes.to_vec());
        if let Some(datum) = key_type.parse(bytes, &mut scratch) {
            assert_eq!(key_type.parse(bytes, &mut again), Some(datum));
            check_datum(&key_type, datum);
        }
    }
});

fn check_datum(key_type: &KeyType, datum: Datum<'_>) {
    let owned = OwnedDatum::from(datum);
    assert_eq!(owned.as_datum(), datum);
    let hashes = |datum| [0, PARTITION_SEED].map(|seed| key_type.hash(datum, seed));
    assert_eq!(hashes(owned.as_datum()), hashes(datum));
    if let Some(binary) = encode(key_type, datum) {
        assert_eq!(key_type.from_binary(&binary), Some(owned), "{key_type:?}");
    }
}

/// Returns the binary form, for types whose encoding is simple.
fn encode(key_type: &KeyType, datum: Datum<'_>) -> Option<Vec<u8>> {
    use KeyType as K;
    Some(match (key_type, datum) {
        (K::Bool, Datum::Int(value)) => vec![value as u8],
        (K::Int2, Datum::Int(value)) => (value as i16).to_be_bytes().into(),
        (K::Int4 | K::Date | K::Oid, Datum::Int(value)) => (value as i32).to_be_bytes().into(),
        (
            K::Int8 | K::Time { .. } | K::Timestamp { .. } | K::Timestamptz { .. },
            Datum::Int(value),
        ) => value.to_be_bytes().into(),
        (K::Numeric { .. } | K::Jsonb | K::Array(_) | K::Range(_), _) => return None,
        (_, Datum::Uuid(value)) => value.to_be_bytes().into(),
        (_, Datum::Bytes(bytes)) => bytes.into(),
        _ => return None,
    })
}
