//! Tests of ranges parsed from text, and encoded.

use super::{encode, encode_multirange, parse};
use crate::types::{Codec, KeyType};

fn read(subtype: &KeyType, text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![7];
    parse(subtype, text.as_bytes(), &mut bytes)?;
    Some(bytes.split_off(1))
}

#[test]
fn discrete_ranges_are_canonical() {
    for spellings in [
        &["[2,6)", "(1,5]", "[2,5]", "(1,6)", " [ 2 , 6 )\n", "(\"1\",\\5]", "[2\"\",\" 6\")"][..],
        &["empty", "[1,1)", "(1,1]", "(1,1)", "(1,2)", "EMPTY ", "(2147483647,2147483647]"],
        &["(,)", "[,]", " (,]"],
        &["(1,)", "[2,]"],
        &["(,5]", "[,6)"],
    ] {
        for spelling in spellings {
            let bytes = read(&KeyType::Int4, spelling);
            assert!(bytes.is_some(), "{spelling}");
            assert_eq!(bytes, read(&KeyType::Int4, spellings[0]), "{spelling}");
        }
    }
}

#[test]
fn ranges_sort_by_lower_and_then_by_upper_bound() {
    let ascending = [
        "empty",
        "(,-1)",
        "(,-1]",
        "(,)",
        "[-1,0)",
        "[-1,0]",
        "[-1,)",
        "(-1,0)",
        "(-1,)",
        "[0,0]",
        "[0.5,0.75)",
        "[0.5,)",
        "[1e5,)",
    ];
    let read = ascending.map(|text| read(&KeyType::Numeric { scale: None }, text));
    assert!(read.is_sorted_by(|a, b| a.is_some() && a < b), "{read:?}");
}

#[test]
fn flags_say_which_bounds_there_are() {
    let [one, two] = [1, 2].map(|number| [0, 0, 0, 4, 0, 0, 0, number]);
    let both = [one, two].concat();
    for (text, flags, bounds) in [
        ("empty", 0x01, &[][..]),
        ("(1,2)", 0x00, &both),
        ("[1,2)", 0x02, &both),
        ("(1, 2]", 0x04, &both),
        (" [1,\"2\"]", 0x06, &both),
        ("[1,]", 0x12, &one),
        ("(,2]", 0x0C, &two),
        ("[,)", 0x18, &[]),
    ] {
        let mut field = Vec::new();
        encode(&Codec::Int4, text.as_bytes(), &mut field).expect(text);
        let length = 1 + bounds.len() as u8;
        assert_eq!(field, [&[0, 0, 0, length, flags], bounds].concat(), "{text}");
    }
}

#[test]
fn a_multirange_is_its_ranges() {
    let read = |text: &str| {
        let mut field = Vec::new();
        encode_multirange(&Codec::Int4, text.as_bytes(), &mut field)?;
        Some(field)
    };
    let all = [0, 0, 0, 1, 0x18];
    let length = |length| [0, 0, 0, length];
    assert_eq!(read("{}"), Some([length(4), length(0)].concat()));
    let one = [&length(9)[..], &length(1), &all].concat();
    assert_eq!(read(" { (,) }\n"), Some(one));
    let two = [&length(14)[..], &length(2), &all, &all].concat();
    assert_eq!(read("{(,), (,)}"), Some(two));
    for text in ["", "{", "{(,)", "{,}", "{(,),}", "{(,), }", "{(,)(,)}", "{empty}", "(,)"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn anything_else_is_left_to_the_server() {
    for text in [
        "",
        "[",
        "[,",
        "[1,2",
        "1,2)",
        "[1 2)",
        "[1,2,3)",
        "[2,1]",
        "[1,2))",
        "[1,2)x",
        "emptyx",
        "[1,2147483647]",
        "[\"\",1)",
        "[\"1,2)",
        "[1,2\\)",
        "{1,2}",
        "[ ,1)",
        "[a,b)",
        "\u{b}[1,2)",
    ] {
        assert_eq!(read(&KeyType::Int4, text), None, "{text}");
    }
    for text in ["[2024-01-01,infinity]", "(-infinity,2024-01-01)", "(infinity,)"] {
        assert_eq!(read(&KeyType::Date, text), None, "{text}");
    }
    assert!(read(&KeyType::Date, "[-infinity,infinity)").is_some());
}
