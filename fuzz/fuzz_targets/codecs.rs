//! Any bytes into every codec: nothing panics, existing output is unchanged, and the appended bytes are one
//! field with the value that the key types read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgsluice_core::types::{Codec, KeyType};

fuzz_target!(|input: (&[u8], Option<i32>, &[u8])| {
    let (before, zone, text) = input;
    let precision = 6;
    let keys = [
        (Codec::Bool, KeyType::Bool),
        (Codec::Int2, KeyType::Int2),
        (Codec::Int4, KeyType::Int4),
        (Codec::Int8, KeyType::Int8),
        (Codec::Numeric, KeyType::Numeric { scale: None }),
        (Codec::Float4, KeyType::Float4),
        (Codec::Float8, KeyType::Float8),
        (Codec::Oid, KeyType::Oid),
        (Codec::PgLsn, KeyType::PgLsn),
        (Codec::Char, KeyType::Char),
        (Codec::Name, KeyType::Name),
        (Codec::Text, KeyType::Text),
        (Codec::Text, KeyType::Varchar { max: None }),
        (Codec::Padded, KeyType::Bpchar { max: None }),
        (Codec::Bytea, KeyType::Bytea),
        (Codec::Uuid, KeyType::Uuid),
        (Codec::Macaddr, KeyType::Macaddr),
        (Codec::Macaddr8, KeyType::Macaddr8),
        (Codec::Inet, KeyType::Inet),
        (Codec::Cidr, KeyType::Cidr),
        (Codec::Date, KeyType::Date),
        (Codec::Time, KeyType::Time { precision }),
        (Codec::Timetz { zone }, KeyType::Timetz { precision, zone }),
        (Codec::Interval, KeyType::Interval { precision }),
        (Codec::Timestamp, KeyType::Timestamp { precision }),
        (Codec::Timestamptz { zone }, KeyType::Timestamptz { precision, zone }),
        (Codec::Jsonb, KeyType::Jsonb),
    ];
    let others = [
        Codec::Xml,
        Codec::Bit,
        Codec::Money,
        Codec::Point,
        Codec::Line,
        Codec::Lseg,
        Codec::Box,
        Codec::Path,
        Codec::Polygon,
        Codec::Circle,
    ];
    for (codec, key_type) in &keys {
        check_key(codec, key_type, before, text);
        let element = Box::new(codec.clone());
        let array = Codec::Array { oid: 23, delimiter: b',', element };
        check_key(&array, &KeyType::Array(key_type.clone().into()), before, text);
        let range = KeyType::Range(key_type.clone().into());
        if range.parse(text, &mut Vec::new()).is_some() && !text.contains(&0) {
            // The server makes it canonical, as the key type does, so the bytes may differ.
            let range = Codec::Range(codec.clone().into());
            assert!(check(&range, before, text).is_some(), "{range:?}");
        }
    }
    for codec in keys.map(|(codec, _)| codec).into_iter().chain(others) {
        check(&codec, before, text);
        let columns = Box::new([(25, Codec::Text), (23, codec.clone())]);
        check(&Codec::Composite(columns), before, text);
        check(&Codec::Multirange(codec.clone().into()), before, text);
        check(&Codec::Range(codec.into()), before, text);
    }
});

/// Returns the value of the field, if any.
fn check(codec: &Codec, before: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let mut field = before.to_vec();
    let encoded = codec.encode(text, &mut field);
    assert!(field.starts_with(before), "{codec:?}");
    encoded?;
    let (length, value) = field[before.len()..].split_first_chunk().expect("a length");
    assert_eq!(usize::try_from(i32::from_be_bytes(*length)), Ok(value.len()), "{codec:?}");
    Some(value.to_vec())
}

fn check_key(codec: &Codec, key_type: &KeyType, before: &[u8], text: &[u8]) {
    let value = check(codec, before, text);
    let (mut scratch, mut other) = (Vec::new(), Vec::new());
    let Some(datum) = key_type.parse(text, &mut scratch) else { return };
    match value {
        Some(value) => {
            let received = key_type.receive(&value, &mut other);
            assert_eq!(received, Some(datum), "{codec:?}");
        }
        // No text of the server contains a NUL byte.
        None => assert!(text.contains(&0), "{codec:?}"),
    }
}
