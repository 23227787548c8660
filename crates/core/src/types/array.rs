//! One-dimensional arrays, in bytes that sort as arrays do.
//!
//! A mark precedes each element and follows the last one. It says what comes next. A shorter array sorts below a
//! longer one that begins with the same elements, and NULL sorts above all values.

use super::unquoted::Unquoted;
use super::{Codec, KeyType, element, jsonb, range, wire};

/// Marks that say what comes next, in ascending order.
const END: u8 = 0;
const VALUE: u8 = 1;
const NULL: u8 = 2;

/// Appends an array, parsed by [`read`], as bytes that sort.
pub(super) fn parse(ty: &KeyType, text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    read(text, b',', |element| match element {
        Some(element) => {
            bytes.push(VALUE);
            parse_value(ty, element, bytes)
        }
        None => {
            bytes.push(NULL);
            Some(())
        }
    })?;
    bytes.push(END);
    Some(())
}

/// Encodes the array that [`read`] parses as `array_recv` (same file) expects it, with elements of the type
/// `oid`: the number of dimensions, whether there are NULLs, the element type; the length and the lower bound of
/// the dimension; the elements.
pub(super) fn encode(
    oid: u32,
    delimiter: u8,
    codec: &Codec,
    text: &[u8],
    field: &mut Vec<u8>,
) -> Option<()> {
    wire::put_with(field, |field| {
        let start = field.len();
        let mut head = [0_u32, 0, oid, 0, 1];
        field.extend([0; 20]);
        read(text, delimiter, |element| {
            head[3] += 1;
            match element {
                Some(element) => codec.encode(element, field),
                None => {
                    head[1] = 1;
                    wire::put_null(field);
                    Some(())
                }
            }
        })?;
        // An empty array has no dimension.
        head[0] = u32::from(head[3] > 0);
        if head[3] == 0 {
            field.truncate(start + 12);
        }
        let head = head.iter().flat_map(|word| word.to_be_bytes());
        field[start..].iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
        Some(())
    })
}

/// Parses like `array_in` (`src/backend/utils/adt/arrayfuncs.c`, PostgreSQL 13 to 18) for one dimension without
/// explicit bounds, with `array_nulls` on. `take` gets the text of each element, or `None` for NULL.
///
/// Backslashes outside of quotes are left to the server.
fn read(
    text: &[u8],
    delimiter: u8,
    mut take: impl FnMut(Option<&[u8]>) -> Option<()>,
) -> Option<()> {
    let inner = trim(text).strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut rest = trim(inner);
    while !rest.is_empty() {
        rest = match read_element(rest, delimiter, &mut take)? {
            [] => break,
            // A delimiter must be followed by another element, even an invalid one.
            [sign, more @ ..] if *sign == delimiter && !more.is_empty() => more,
            _ => return None,
        };
    }
    Some(())
}

/// Reads an element and the whitespace around it; the rest begins with the delimiter.
fn read_element<'a>(
    text: &'a [u8],
    delimiter: u8,
    take: &mut impl FnMut(Option<&[u8]>) -> Option<()>,
) -> Option<&'a [u8]> {
    let text = trim_start(text);
    if let Some(quoted) = text.strip_prefix(b"\"") {
        return Some(trim_start(read_quoted(quoted, take)?));
    }
    let (word, rest) = text.split_at(memchr::memchr(delimiter, text).unwrap_or(text.len()));
    let word = trim_end(word);
    if word.is_empty() || word.iter().any(|byte| b"\"\\{}".contains(byte)) {
        return None;
    }
    take((!word.eq_ignore_ascii_case(b"null")).then_some(word))?;
    Some(rest)
}

/// Reads a quoted element up to its closing quote.
fn read_quoted<'a>(
    text: &'a [u8],
    take: &mut impl FnMut(Option<&[u8]>) -> Option<()>,
) -> Option<&'a [u8]> {
    let end = memchr::memchr2(b'"', b'\\', text)?;
    if text[end] == b'"' {
        take(Some(&text[..end]))?;
        return Some(&text[end + 1..]);
    }
    let mut plain = Unquoted::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [b'"', rest @ ..] => {
                take(Some(plain.bytes()))?;
                return Some(rest);
            }
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                plain.push(*byte);
                rest
            }
            [] => return None,
        };
    }
}

fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [byte, rest @ ..] = text
        && is_space(*byte)
    {
        text = rest;
    }
    text
}

fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., byte] = text
        && is_space(*byte)
    {
        text = rest;
    }
    text
}

/// Whether the byte is whitespace: `array_isspace` (same file), since version 17 `scanner_isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// Parses the binary form that `array_recv` (same file) reads, into the bytes that [`parse`] writes. Returns
/// `None` unless the array has at most one dimension and its lower bound is 1.
pub(super) fn receive(ty: &KeyType, binary: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let mut rest = binary;
    let (dimensions, _nulls, _element) = (int(&mut rest)?, int(&mut rest)?, int(&mut rest)?);
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, first) = (int(&mut rest)?, int(&mut rest)?);
            if first == 1 { count } else { return None }
        }
        _ => return None,
    };
    for _ in 0..count {
        match int(&mut rest)? {
            -1 => bytes.push(NULL),
            length => {
                let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                bytes.push(VALUE);
                element::receive(ty, value, bytes)?;
                rest = after;
            }
        }
    }
    bytes.push(END);
    rest.is_empty().then_some(())
}

fn int(bytes: &mut &[u8]) -> Option<i32> {
    let (value, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(i32::from_be_bytes(*value))
}

/// Appends the bytes of an element, parsed like [`KeyType::parse`].
fn parse_value(ty: &KeyType, text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    match ty {
        KeyType::Range(subtype) => range::parse(subtype, text, bytes),
        KeyType::Jsonb => jsonb::parse(text, bytes),
        _ => element::parse(ty, text, bytes),
    }
}

/// Takes an element off `bytes` and hashes it with [`KeyType::hash`].
fn hash_value(ty: &KeyType, bytes: &mut &[u8], seed: u64) -> u64 {
    match ty {
        KeyType::Range(subtype) => range::hash_extended(subtype, bytes, seed),
        KeyType::Jsonb => jsonb::hash_extended(bytes, seed),
        _ => element::hash_extended(ty, bytes, seed),
    }
}

/// Hashes like `hash_array_extended` (same file).
pub(super) fn hash_extended(ty: &KeyType, mut bytes: &[u8], seed: u64) -> u64 {
    let mut result: u64 = 1;
    while let [follows @ (VALUE | NULL), rest @ ..] = bytes {
        bytes = rest;
        let hash = match *follows {
            NULL => 0,
            _ => hash_value(ty, &mut bytes, seed),
        };
        result = result.wrapping_mul(31).wrapping_add(hash);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{parse, receive};
    use crate::types::KeyType;

    fn read(ty: &KeyType, text: &str) -> Option<Vec<u8>> {
        let mut bytes = vec![7];
        parse(ty, text.as_bytes(), &mut bytes)?;
        Some(bytes.split_off(1))
    }

    #[test]
    fn spellings_of_one_array_are_the_same() {
        for spellings in [
            &["{}", " { } ", "\u{b}{\u{c}}"][..],
            &["{a,NULL,\"null\"}", "{ a\t, null ,\"n\\ull\"}", "{\"a\" , nULl,\"null\" }\n"],
            &["{a b,\"\"}", "{ a b , \"\" }", "{\"\\a b\",\"\"}"],
            &["{\"a\\\"b,}\\\\\"}", " {\"\\a\\\"b\\,\\}\\\\\"}"],
        ] {
            for spelling in spellings {
                assert!(read(&KeyType::Text, spelling).is_some(), "{spelling}");
                let first = read(&KeyType::Text, spellings[0]);
                assert_eq!(read(&KeyType::Text, spelling), first, "{spelling}");
            }
        }
    }

    #[test]
    fn arrays_sort_element_by_element() {
        let ascending = [
            "{}",
            "{\"\"}",
            "{\"\",\"\"}",
            "{\"\",NULL}",
            "{a}",
            "{a,a}",
            "{a,b}",
            "{ab}",
            "{NULL}",
            "{NULL,a}",
            "{NULL,NULL}",
        ];
        let read = ascending.map(|text| read(&KeyType::Text, text));
        assert!(read.is_sorted_by(|a, b| a.is_some() && a < b), "{read:?}");
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "",
            "{",
            "}",
            "{a",
            "a}",
            "{a}}",
            "{{a}}",
            "{a{}",
            "[1:1]={a}",
            "{,}",
            "{a,}",
            "{,a}",
            "{a, }",
            "{a\"b\"}",
            "{\"a\"b}",
            "{\"a\"\"b\"}",
            "{\"a}",
            "{\"a\\\"}",
            "{a\\b}",
            "{a}x",
            "{a\\}",
            "\u{a0}{a}",
        ] {
            assert_eq!(read(&KeyType::Text, text), None, "{text}");
        }
        assert_eq!(read(&KeyType::Int4, "{1,x}"), None);
    }

    #[test]
    fn only_one_dimension_from_1_on_is_decoded() {
        let binary = |numbers: &[i32]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
        };
        let read = |numbers: &[i32]| {
            let mut bytes = Vec::new();
            receive(&KeyType::Int4, &binary(numbers), &mut bytes).map(|()| bytes)
        };
        assert!(read(&[0, 0, 23]).is_some());
        assert!(read(&[1, 1, 23, 2, 1, 4, 5, -1]).is_some());
        for numbers in [
            &[0, 0, 23, 0][..],
            &[1, 0, 23, 1, 0, 4, 5],
            &[1, 0, 23, 1, 1, 4],
            &[1, 0, 23, 1, 1, -2],
            &[1, 0, 23, 1, 1, 4, 5, 6],
            &[2, 0, 23, 1, 1, 1, 1, 4, 5],
        ] {
            assert_eq!(read(numbers), None, "{numbers:?}");
        }
    }
}
