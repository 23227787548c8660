//! The two writers agree: the core's codec, applied to the text that one writer spells, returns the COPY
//! BINARY that the other writes. So an error would have to be made three times.

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, i256};
use pgsluice_core::format::Format;
use pgsluice_core::hash::PARTITION_SEED;
use pgsluice_core::parse::Parser;
use pgsluice_core::types::{Codec, ColumnType, KeyType, Scale, TypeStructure};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::harness::{array_of, composite_of, fixed, given, ty, with_modifier};

/// Whether the codec must read every spelling of these values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    All,
    Some,
}

fn assert_agree(array: &dyn Array, ty: &ColumnType, codec: &Codec, reads: Reads) {
    let given = given(array, ty);
    let parser = Parser::new(&Format::text(), vec![0]);
    for (binary, text) in given.binary().into_iter().zip(given.text()) {
        let (binary, text) = match (binary, text) {
            (Ok(binary), Ok(text)) => (binary, text),
            (binary, text) => {
                assert_eq!(binary.err(), text.err(), "why it does not fit");
                continue;
            }
        };
        let read = parser.all(text.as_bytes());
        let [read] = &read[..] else { panic!("one field: {text}") };
        let (Some(read), Some(binary)) = (read, &binary) else {
            assert_eq!((read, &text[..]), (&None, "\\N"));
            assert_eq!(binary, None);
            continue;
        };
        check_key(ty, read, binary);
        let mut field = Vec::new();
        match codec.encode(read, &mut field) {
            Some(()) => assert_eq!(&field[4..], binary, "{text}"),
            None => assert!(reads == Reads::Some, "{text} is read by {codec:?}"),
        }
    }
}

/// Checks that the router reads a key in binary as it reads the key's text, if it reads that.
fn check_key(ty: &ColumnType, text: &[u8], binary: &[u8]) {
    let Some(key_type) = key_type(ty) else { return };
    let (mut scratch, mut other) = (Vec::new(), Vec::new());
    let Some(parsed) = key_type.parse(text, &mut other) else { return };
    let received = key_type.receive(binary, &mut scratch);
    assert_eq!(received, Some(parsed), "{key_type:?} {}", String::from_utf8_lossy(text));
    for seed in [0, PARTITION_SEED] {
        assert_eq!(received.map(|it| key_type.hash(it, seed)), Some(key_type.hash(parsed, seed)));
    }
}

/// Returns the partition key type of the type; `None` for composite types.
fn key_type(ty: &ColumnType) -> Option<KeyType> {
    let modifier = ty.modifier;
    let precision = u8::try_from(modifier).unwrap_or(6);
    let max = u32::try_from(modifier - 4).ok();
    let scale = max.map(|bits| Scale {
        precision: (bits >> 16) as i32,
        scale: ((bits & 0x7FF) as i32 ^ 1024) - 1024,
    });
    Some(match (&ty.structure, ty.oid) {
        (TypeStructure::Array { element, .. }, _) => KeyType::Array(key_type(element)?.into()),
        (_, 16) => KeyType::Bool,
        (_, 17) => KeyType::Bytea,
        (_, 20) => KeyType::Int8,
        (_, 21) => KeyType::Int2,
        (_, 23) => KeyType::Int4,
        (_, 25) => KeyType::Text,
        (_, 26) => KeyType::Oid,
        (_, 700) => KeyType::Float4,
        (_, 701) => KeyType::Float8,
        (_, 1042) => KeyType::Bpchar { max },
        (_, 1043) => KeyType::Varchar { max },
        (_, 1082) => KeyType::Date,
        (_, 1083) => KeyType::Time { precision },
        (_, 1114) => KeyType::Timestamp { precision },
        (_, 1184) => KeyType::Timestamptz { precision, zone: None },
        (_, 1186) => KeyType::Interval { precision },
        (_, 1700) => KeyType::Numeric { scale },
        (_, 2950) => KeyType::Uuid,
        (_, 3802) => KeyType::Jsonb,
        _ => return None,
    })
}

/// Returns integers of every size, including the ends of all types.
fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        any::<i32>().prop_map(i64::from),
        any::<i16>().prop_map(i64::from),
        -20_000..20_000_i64,
        (0..63_u32, -1..2_i64).prop_map(|(bits, more)| (1 << bits) + more),
    ]
}

fn extreme() -> impl Strategy<Value = f64> {
    let zeros = [0.0, -0.0, f64::MIN_POSITIVE, f64::from_bits(1)];
    let ends = [f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7FF8_0000_0000_0001)];
    prop::sample::select([&zeros[..], &ends, &nans].concat())
}

fn rows<T: std::fmt::Debug>(
    values: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<Option<T>>> {
    vec(prop::option::weighted(0.9, values), 1..20)
}

/// Microseconds since 1970-01-01, in years of four digits.
const YEARS: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

proptest! {
    #[test]
    fn integers(values in rows(int())) {
        let array = Int64Array::from(values.clone());
        for (oid, codec) in [
            (21, Codec::Int2),
            (23, Codec::Int4),
            (20, Codec::Int8),
            (26, Codec::Oid),
            (1700, Codec::Numeric),
            (700, Codec::Float4),
            (701, Codec::Float8),
            (25, Codec::Text),
        ] {
            assert_agree(&array, &ty(oid), &codec, Reads::All);
        }
        let unsigned = values.iter().map(|value| value.map(|value| value as u64));
        let unsigned = UInt64Array::from(unsigned.collect::<Vec<_>>());
        assert_agree(&unsigned, &ty(1700), &Codec::Numeric, Reads::All);
        assert_agree(&unsigned, &ty(20), &Codec::Int8, Reads::All);
        let array = array_of(1231, ty(1700));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(values)]);
        let element = Codec::Numeric.into();
        let codec = Codec::Array { oid: 1700, delimiter: b',', element };
        assert_agree(&lists, &array, &codec, Reads::All);
    }

    #[test]
    fn decimals(
        values in rows((any::<i128>(), 0..128_u32).prop_map(|(value, bits)| value >> bits)),
        scale in -20..=38_i8,
        declared in -3..=20_i32,
    ) {
        let digits = values.iter().map(|value| value.map(|value| value % 10_i128.pow(38)));
        let short = Decimal128Array::from(digits.collect::<Vec<_>>());
        let short = short.with_precision_and_scale(38, scale).expect("a decimal");
        let long = values.iter().map(|value| value.map(|value| i256::from_i128(value).wrapping_mul(i256::from_i128(value))));
        let long = Decimal256Array::from(long.collect::<Vec<_>>());
        let long = long.with_precision_and_scale(76, scale).expect("a decimal");
        let declared = with_modifier(1700, ((20 << 16) | (declared & 0x7FF)) + 4);
        for ty in [ty(1700), declared] {
            assert_agree(&short, &ty, &Codec::Numeric, Reads::All);
            assert_agree(&long, &ty, &Codec::Numeric, Reads::All);
        }
        assert_agree(&short, &ty(20), &Codec::Int8, Reads::All);
        assert_agree(&long, &ty(23), &Codec::Int4, Reads::All);
    }

    #[test]
    fn floats(values in rows(prop_oneof![any::<f64>(), any::<f32>().prop_map(f64::from), int().prop_map(|value| value as f64), extreme()])) {
        let array = Float64Array::from(values.clone());
        let narrow: Vec<_> = values.iter().map(|value| value.map(|value| value as f32)).collect();
        let narrow = Float32Array::from(narrow);
        for (oid, codec) in [(700, Codec::Float4), (701, Codec::Float8), (1700, Codec::Numeric)] {
            // Numbers close to zero are left to the server.
            assert_agree(&array, &ty(oid), &codec, Reads::Some);
            assert_agree(&narrow, &ty(oid), &codec, Reads::Some);
        }
        assert_agree(&array, &ty(20), &Codec::Int8, Reads::All);
        assert_agree(&narrow, &ty(23), &Codec::Int4, Reads::All);
    }

    #[test]
    fn dates(values in rows(-719_162..2_932_897_i32), all in rows(any::<i32>())) {
        let dates = Date32Array::from(values);
        assert_agree(&dates, &ty(1082), &Codec::Date, Reads::All);
        assert_agree(&dates, &ty(1114), &Codec::Timestamp, Reads::All);
        assert_agree(&Date32Array::from(all), &ty(1082), &Codec::Date, Reads::Some);
    }

    #[test]
    fn times(values in rows(-1..86_400_000_002_i64), precision in 0..=6) {
        let array = Time64MicrosecondArray::from(values.clone());
        assert_agree(&array, &ty(1083), &Codec::Time, Reads::All);
        assert_agree(&array, &with_modifier(1083, precision), &Codec::Time, Reads::All);
        let array = Time64NanosecondArray::from(values);
        assert_agree(&array, &ty(1083), &Codec::Time, Reads::All);
    }

    #[test]
    fn timestamps(values in rows(YEARS), all in rows(int()), precision in 0..=6) {
        let zone = Codec::Timestamptz { zone: None };
        let micros = TimestampMicrosecondArray::from(values);
        assert_agree(&micros, &ty(1114), &Codec::Timestamp, Reads::All);
        assert_agree(&micros, &with_modifier(1114, precision), &Codec::Timestamp, Reads::All);
        assert_agree(&micros, &ty(1082), &Codec::Date, Reads::All);
        assert_agree(&micros.with_timezone("+01:00"), &ty(1184), &zone, Reads::All);
        let seconds = TimestampSecondArray::from(all.clone());
        assert_agree(&seconds, &ty(1114), &Codec::Timestamp, Reads::Some);
        let millis = TimestampMillisecondArray::from(all.clone()).with_timezone("UTC");
        assert_agree(&millis, &ty(1184), &zone, Reads::Some);
        let nanos = all.iter().map(|value| value.map(|value| value / 1_000 * 1_000));
        let nanos = TimestampNanosecondArray::from(nanos.collect::<Vec<_>>());
        assert_agree(&nanos, &ty(1114), &Codec::Timestamp, Reads::All);
    }

    #[test]
    fn intervals(values in rows((any::<i32>(), any::<i32>(), int())), units in rows(int())) {
        let fields = |(months, days, nanos)| IntervalMonthDayNano::new(months, days, nanos);
        let fields = |value: &Option<_>| value.map(fields);
        let fields: Vec<_> = values.iter().map(fields).collect();
        assert_agree(&IntervalMonthDayNanoArray::from(fields), &ty(1186), &Codec::Interval, Reads::Some);
        assert_agree(&DurationMicrosecondArray::from(units), &ty(1186), &Codec::Interval, Reads::Some);
    }

    #[test]
    fn small_intervals(months in 0..100_000_i32, days in 0..100_000_i32, micros in 0..100_000_000_000_i64) {
        let value = IntervalMonthDayNano::new(months, days, micros * 1_000);
        assert_agree(&IntervalMonthDayNanoArray::from(vec![value]), &ty(1186), &Codec::Interval, Reads::All);
        let value = DurationMicrosecondArray::from(vec![micros, -micros]);
        assert_agree(&value, &ty(1186), &Codec::Interval, Reads::All);
    }

    #[test]
    fn strings(values in rows("[\t\n\r -~ä€]{0,20}|null|\\\\N|\\\\\\.")) {
        let array = StringArray::from(values.clone());
        for oid in [25, 1043, 114] {
            assert_agree(&array, &ty(oid), &Codec::Text, Reads::All);
        }
        assert_agree(&array, &with_modifier(1042, 24), &Codec::Padded, Reads::All);
        assert_agree(&array, &ty(3802), &Codec::Jsonb, Reads::All);
        let bytes = values.iter().map(|value| value.as_ref().map(|value| value.as_bytes()));
        let bytes = BinaryArray::from_iter(bytes);
        assert_agree(&bytes, &ty(17), &Codec::Bytea, Reads::All);
        assert_agree(&bytes, &ty(25), &Codec::Text, Reads::All);
        let mut lists = builder::ListBuilder::new(builder::StringBuilder::new());
        lists.append_value(values);
        let codec = Codec::Array { oid: 25, delimiter: b',', element: Codec::Text.into() };
        assert_agree(&lists.finish(), &array_of(1009, ty(25)), &codec, Reads::All);
    }

    #[test]
    fn composites(number in any::<i64>(), text in "[\t\n -~ä]{0,9}", flag in any::<bool>()) {
        let array = StructArray::try_from(vec![
            ("n", std::sync::Arc::new(Int64Array::from(vec![number])) as ArrayRef),
            ("t", std::sync::Arc::new(StringArray::from(vec![text]))),
            ("f", std::sync::Arc::new(BooleanArray::from(vec![Some(flag)]))),
        ]).expect("a struct");
        let composite = composite_of(50_000, vec![("f", ty(16)), ("t", ty(25)), ("n", ty(1700))]);
        let columns = [(16, Codec::Bool), (25, Codec::Text), (1700, Codec::Numeric)];
        assert_agree(&array, &composite, &Codec::Composite(columns.into()), Reads::All);
    }

    #[test]
    fn uuids(value in any::<[u8; 16]>()) {
        assert_agree(&fixed(&value), &ty(2950), &Codec::Uuid, Reads::All);
    }
}
