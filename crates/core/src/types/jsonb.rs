//! jsonb, in bytes that sort as the server sorts them if strings sort by their bytes.
//!
//! Each value consists of its kind and its content. A string ends with a zero. An array or object begins with
//! the number of its values or pairs, which follow; the key of a pair comes first, as a string. A scalar at the
//! top level is wrapped in an array that is marked as such.

use std::cmp::Ordering;

use super::json::Json;
use super::{element, numeric, text, wire};
use crate::hash;

/// `enum jbvType`, `src/include/utils/jsonb.h`, in the same order.
const NULL: u8 = 0;
const STRING: u8 = 1;
const NUMERIC: u8 = 2;
const BOOL: u8 = 3;
const ARRAY: u8 = 4;
const OBJECT: u8 = 5;

/// Marks after the count of an array, because `compareJsonbContainers` compares the count first.
const SCALAR: u8 = 0;
const NO_SCALAR: u8 = 1;

/// `JB_FARRAY` and `JB_FOBJECT`, in the same file.
const ARRAY_FLAG: u64 = 0x4000_0000;
const OBJECT_FLAG: u64 = 0x2000_0000;

/// Version of the binary format.
const VERSION: u8 = 1;

/// Limits on the work for one row; larger values are left to the server.
const MAX_LENGTH: usize = 1 << 16;
const MAX_DEPTH: usize = 64;
const MAX_PAIRS: u32 = 256;

/// Parses like `jsonb_in` (`src/backend/utils/adt/jsonb.c`, PostgreSQL 13 to 18) if the server's encoding is
/// UTF-8, and appends the value to `bytes`.
pub(super) fn parse(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut json = Json::new(text);
    if !matches!(json.peek()?, b'[' | b'{') {
        bytes.push(ARRAY);
        bytes.extend(1_u32.to_be_bytes());
        bytes.push(SCALAR);
    }
    parse_value(&mut json, MAX_DEPTH, bytes)?;
    json.peek().is_none().then_some(())
}

/// Encodes the text as `jsonb_recv` (same file) expects it: a version, then the text, which it reads like
/// `jsonb_in`.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if text::has_zero(text) {
        return None;
    }
    field.reserve(5 + text.len());
    wire::put_with(field, |field| {
        field.push(VERSION);
        field.extend_from_slice(text);
        Some(())
    })
}

fn parse_value(json: &mut Json<'_>, depth: usize, bytes: &mut Vec<u8>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match json.peek()? {
        b'[' => parse_array(json, depth, bytes),
        b'{' => parse_object(json, depth, bytes),
        b'"' => parse_string(json, bytes),
        b'n' => {
            bytes.push(NULL);
            json.word(b"null")
        }
        b't' => {
            bytes.extend([BOOL, 1]);
            json.word(b"true")
        }
        b'f' => {
            bytes.extend([BOOL, 0]);
            json.word(b"false")
        }
        _ => {
            bytes.push(NUMERIC);
            numeric::parse(json.number()?, None, bytes)
        }
    }
}

fn parse_string(json: &mut Json<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    bytes.push(STRING);
    json.accept(b'"').then(|| json.string(bytes))??;
    bytes.push(0);
    Some(())
}

fn parse_array(json: &mut Json<'_>, depth: usize, bytes: &mut Vec<u8>) -> Option<()> {
    bytes.push(ARRAY);
    let counter = bytes.len();
    let mut count: u32 = 0;
    bytes.extend(count.to_be_bytes());
    bytes.push(NO_SCALAR);
    json.accept(b'[');
    if !json.accept(b']') {
        loop {
            parse_value(json, depth, bytes)?;
            count += 1;
            if json.accept(b']') {
                break;
            }
            json.accept(b',').then_some(())?;
        }
    }
    bytes[counter..counter + 4].copy_from_slice(&count.to_be_bytes());
    Some(())
}

fn parse_object(json: &mut Json<'_>, depth: usize, bytes: &mut Vec<u8>) -> Option<()> {
    bytes.push(OBJECT);
    let counter = bytes.len();
    let mut count: u32 = 0;
    bytes.extend(count.to_be_bytes());
    json.accept(b'{');
    if !json.accept(b'}') {
        loop {
            let pair = bytes.len();
            parse_string(json, bytes)?;
            json.accept(b':').then_some(())?;
            parse_value(json, depth, bytes)?;
            count += u32::from(place_pair(bytes, counter + 4, pair));
            if count > MAX_PAIRS {
                return None;
            }
            if json.accept(b'}') {
                break;
            }
            json.accept(b',').then_some(())?;
        }
    }
    bytes[counter..counter + 4].copy_from_slice(&count.to_be_bytes());
    Some(())
}

/// Moves the last pair of an object to its place among the others, where it replaces a pair with the same key,
/// like `uniqueifyJsonbObject` (`src/backend/utils/adt/jsonb_util.c`). Returns whether the key is new.
fn place_pair(bytes: &mut Vec<u8>, first: usize, last: usize) -> bool {
    let (pairs, pair) = bytes.split_at(last);
    let JsonToken::String(key) = take_token(&mut &*pair) else { return false };
    let mut place = first;
    while place < last {
        let mut rest = &pairs[place..];
        let JsonToken::String(other) = take_token(&mut rest) else { return false };
        let order = other.len().cmp(&key.len()).then_with(|| other.cmp(key));
        if order == Ordering::Greater {
            break;
        }
        take_value(&mut rest, |_| ());
        let next = last - rest.len();
        if order == Ordering::Equal {
            bytes.drain(place..next);
            bytes[place..].rotate_left(last - next);
            return false;
        }
        place = next;
    }
    bytes[place..].rotate_left(last - place);
    true
}

/// The tokens of a jsonb, in the order of `JsonbIteratorNext` but without its end tokens.
enum JsonToken<'a> {
    Null,
    /// A value or a key.
    String(&'a [u8]),
    Numeric(&'a [u8]),
    Bool(bool),
    Array(u32),
    Object(u32),
}

fn take_token<'a>(bytes: &mut &'a [u8]) -> JsonToken<'a> {
    match element::take(bytes) {
        [STRING] => {
            let (string, rest) = bytes.split_at(memchr::memchr(0, bytes).unwrap_or(bytes.len()));
            *bytes = rest.get(1..).unwrap_or_default();
            JsonToken::String(string)
        }
        [NUMERIC] => JsonToken::Numeric(numeric::take(bytes)),
        [BOOL] => JsonToken::Bool(element::take(bytes) == [1]),
        [ARRAY] => {
            let count = u32::from_be_bytes(element::take(bytes));
            let [_scalar] = element::take(bytes);
            JsonToken::Array(count)
        }
        [OBJECT] => JsonToken::Object(u32::from_be_bytes(element::take(bytes))),
        [_] => JsonToken::Null,
    }
}

/// Takes a value and everything in it, and passes each token to `visit`.
fn take_value<'a>(bytes: &mut &'a [u8], mut visit: impl FnMut(JsonToken<'a>)) {
    let mut values: u64 = 1;
    while values > 0 {
        let token = take_token(bytes);
        values -= 1;
        match token {
            JsonToken::Array(count) => values += u64::from(count),
            JsonToken::Object(count) => values += 2 * u64::from(count),
            _ => {}
        }
        visit(token);
    }
}

/// Takes a jsonb off `bytes` and hashes it like `jsonb_hash_extended` (`src/backend/utils/adt/jsonb_op.c`) and
/// `JsonbHashScalarValueExtended` (`src/backend/utils/adt/jsonb_util.c`, PostgreSQL 13 to 18).
pub(super) fn hash_extended(bytes: &mut &[u8], seed: u64) -> u64 {
    let is_empty = matches!(take_token(&mut &**bytes), JsonToken::Array(0) | JsonToken::Object(0));
    let mut hash = 0;
    take_value(bytes, |token| {
        let scalar = match token {
            JsonToken::Array(_) => return hash ^= ARRAY_FLAG << 32 | ARRAY_FLAG,
            JsonToken::Object(_) => return hash ^= OBJECT_FLAG << 32 | OBJECT_FLAG,
            JsonToken::Null => seed.wrapping_add(1),
            JsonToken::String(string) => hash::bytes_extended(string, seed),
            JsonToken::Numeric(number) => numeric::hash_extended(number, seed),
            JsonToken::Bool(value) if seed != 0 => hash::uint32_extended(value.into(), seed),
            JsonToken::Bool(true) => 2,
            JsonToken::Bool(false) => 4,
        };
        hash = hash::rotate_halves(hash) ^ scalar;
    });
    if is_empty { seed } else { hash }
}

/// Decodes the binary form that `jsonb_recv` (`src/backend/utils/adt/jsonb.c`) reads, a version and a text, like
/// [`parse`].
pub(super) fn receive(binary: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    parse(binary.strip_prefix(&[VERSION])?, bytes)
}

#[cfg(test)]
mod tests {
    use super::{MAX_PAIRS, parse};

    fn read(text: &str) -> Option<Vec<u8>> {
        let mut bytes = vec![7];
        parse(text.as_bytes(), &mut bytes)?;
        Some(bytes.split_off(1))
    }

    #[test]
    fn spellings_of_one_value_are_the_same() {
        for spellings in [
            &[
                r#"{"b": 1, "aa": {"x": [], "y": 2}}"#,
                r#"{"aa":{"y":2,"x":[]},"b":1.0}"#,
                r#"{"b":{},"aa":0,"b":10e-1,"aa":{"x":9,"y":3,"y":2,"x":[ ]}}"#,
                "\n{\"\\u0062\"\t: 1 ,\"aa\":{\"x\":[],\"y\":2}\r} ",
            ][..],
            &["0", " -0", "0.0", "0e5"],
            &[r#""é/""#, r#""\u00e9\/""#],
            &["[]", " [ ]"],
        ] {
            for spelling in spellings {
                assert!(read(spelling).is_some(), "{spelling}");
                assert_eq!(read(spelling), read(spellings[0]), "{spelling}");
            }
        }
    }

    #[test]
    fn values_sort_by_kind_and_count() {
        let ascending = [
            "[]",
            "null",
            r#""""#,
            r#""a""#,
            r#""aé""#,
            "-1e5",
            "-1",
            "0",
            "1",
            "false",
            "true",
            "[null]",
            r#"["b"]"#,
            "[9]",
            "[[]]",
            "[{}]",
            "[1, 2]",
            "[1, [0]]",
            "[1, {}]",
            "{}",
            r#"{"b": 9}"#,
            r#"{"b": []}"#,
            r#"{"c": 0}"#,
            r#"{"a": 0, "b": 0}"#,
        ];
        let read = ascending.map(read);
        assert!(read.is_sorted_by(|a, b| a.is_some() && a < b), "{read:?}");
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "",
            " ",
            "nul",
            "True",
            "nulll",
            "01",
            "1 2",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{",
            "{]",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{a:1}"#,
            r#"{1:1}"#,
            "\"a",
            "'a'",
            "\u{b}1",
            "1e1000",
            "\u{feff}1",
            "NaN",
            "// 1",
            "}",
            ",",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn limits_keep_the_work_small() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(64)).is_some() && read(&nested(65)).is_none());
        let pairs = |count| {
            let pairs: Vec<String> = (0..count).rev().map(|n| format!("\"{n}\":{n}")).collect();
            format!("{{{}}}", pairs.join(","))
        };
        assert!(read(&pairs(MAX_PAIRS)).is_some() && read(&pairs(MAX_PAIRS + 1)).is_none());
        let long = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(read(&long(1 << 16)).is_some() && read(&long((1 << 16) + 1)).is_none());
    }
}
