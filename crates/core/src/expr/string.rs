//! Functions of text: its case, and its substrings, counted in UTF-8 characters.

use std::ops::{Range, RangeInclusive};

use super::value::ExprValue;

/// The case that letters are changed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `lower`
    Lower,
    /// `upper`
    Upper,
}

/// Changes the case of ASCII text like `lower` and `upper` (`src/backend/utils/adt/oracle_compat.c` and
/// `formatting.c`, PostgreSQL 13 to 18). Other letters depend on the collation.
pub(super) fn change<'a>(
    case: Case,
    text: ExprValue<'a>,
    scratch: &mut Vec<u8>,
) -> Option<ExprValue<'a>> {
    let bytes = text.bytes(scratch)?;
    if !bytes.is_ascii() {
        return None;
    }
    let changes = match case {
        Case::Lower => bytes.iter().any(u8::is_ascii_uppercase),
        Case::Upper => bytes.iter().any(u8::is_ascii_lowercase),
    };
    if !changes {
        return Some(text);
    }
    let made = match text {
        ExprValue::Given(bytes) => {
            scratch.clear();
            scratch.extend(bytes);
            ExprValue::from_scratch(scratch)
        }
        made => made,
    };
    match case {
        Case::Lower => scratch.make_ascii_lowercase(),
        Case::Upper => scratch.make_ascii_uppercase(),
    }
    Some(made)
}

/// A function that takes a substring of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// `left(text, number)`
    Left,
    /// `right(text, number)`
    Right,
    /// `substr(text, from)`, `substr(text, from, number)`, and both as `substring`
    Substring,
}

impl Cut {
    /// Returns the allowed numbers of integer arguments.
    pub(super) fn arguments(self) -> RangeInclusive<usize> {
        match self {
            Self::Left | Self::Right => 1..=1,
            Self::Substring => 1..=2,
        }
    }

    /// Returns the range of the substring; `None` if the server would reject the arguments or its versions
    /// differ.
    pub(super) fn find(self, text: &[u8], first: i64, second: Option<i64>) -> Option<Range<usize>> {
        match self {
            Self::Left => left(text, first),
            Self::Right => right(text, first),
            Self::Substring => substring(text, first, second),
        }
    }
}

/// Returns the range of `text_left` (`src/backend/utils/adt/varlena.c`, PostgreSQL 13 to 18). A negative number
/// counts from the end.
fn left(text: &[u8], number: i64) -> Option<Range<usize>> {
    let number = if number < 0 { characters(text) + number } else { number };
    Some(0..offset(text, number))
}

/// Returns the range of `text_right` (same file); `None` for the least integer, which it cannot negate.
fn right(text: &[u8], number: i64) -> Option<Range<usize>> {
    let skipped = if number < 0 { -number } else { characters(text) - number };
    (number > i32::MIN.into()).then(|| offset(text, skipped)..text.len())
}

/// Returns the range of `text_substring` (same file). `from` counts from 1, and positions before the first
/// character count, too. If the end is out of the range of an integer, older versions have bugs, so the result
/// is `None`.
fn substring(text: &[u8], from: i64, number: Option<i64>) -> Option<Range<usize>> {
    let end = match number {
        None => text.len(),
        Some(0..) => {
            let end = from + number?;
            (i64::from(i32::MIN)..=i32::MAX.into()).contains(&end).then(|| offset(text, end - 1))?
        }
        Some(_) => return None,
    };
    Some(offset(text, from - 1).min(end)..end)
}

/// Counts the UTF-8 characters, that is, the bytes that begin a character.
fn characters(text: &[u8]) -> i64 {
    text.iter().filter(|byte| begins(byte)).count() as i64
}

/// Returns the offset of the character that `characters` others precede, or the length of the text.
fn offset(text: &[u8], characters: i64) -> usize {
    let Ok(characters) = usize::try_from(characters) else { return 0 };
    // A text has at most as many characters as bytes.
    if characters >= text.len() {
        return text.len();
    }
    let mut begins = text.iter().enumerate().filter(|(_, byte)| begins(byte));
    begins.nth(characters).map_or(text.len(), |(offset, _)| offset)
}

fn begins(byte: &u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(cut: Cut, text: &str, first: i64, second: Option<i64>) -> Option<&str> {
        cut.find(text.as_bytes(), first, second).map(|range| &text[range])
    }

    #[test]
    fn positions_may_lie_outside_the_text() {
        for (first, second, piece) in [
            (1, Some(2), Some("aä")),
            (2, None, Some("ä€")),
            (0, None, Some("aä€")),
            (0, Some(2), Some("a")),
            (-5, Some(7), Some("a")),
            (-5, Some(5), Some("")),
            (3, Some(9), Some("€")),
            (4, Some(1), Some("")),
            (2, Some(0), Some("")),
            (2, Some(-1), None),
            (2, Some(i32::MAX.into()), None),
            (i32::MIN.into(), Some(i32::MAX.into()), Some("")),
        ] {
            assert_eq!(cut(Cut::Substring, "aä€", first, second), piece, "{first} {second:?}");
        }
        for (number, left, right) in
            [(2, "aä", "ä€"), (0, "", ""), (-1, "aä", "ä€"), (-9, "", ""), (9, "aä€", "aä€")]
        {
            assert_eq!(cut(Cut::Left, "aä€", number, None), Some(left), "left {number}");
            assert_eq!(cut(Cut::Right, "aä€", number, None), Some(right), "right {number}");
        }
        assert_eq!(cut(Cut::Right, "a", i32::MIN.into(), None), None);
    }

    proptest! {
        /// Compares with a slow twin that numbers the characters and checks whether each is in the substring.
        #[test]
        fn pieces_are_made_of_their_characters(
            text in "[a-cä€😀 ]{0,8}",
            first in -12_i64..12,
            number in 0_i64..12,
        ) {
            let count = text.chars().count() as i64;
            let pick = |wanted: &dyn Fn(i64) -> bool| -> String {
                (1..).zip(text.chars()).filter(|(place, _)| wanted(*place)).map(|(_, c)| c).collect()
            };
            let from = pick(&|place| place >= first);
            let middle = pick(&|place| place >= first && place < first + number);
            let left = pick(&|place| place <= if first < 0 { count + first } else { first });
            let right = pick(&|place| place > if first < 0 { -first } else { count - first });
            prop_assert_eq!(cut(Cut::Substring, &text, first, None), Some(from.as_str()));
            prop_assert_eq!(cut(Cut::Substring, &text, first, Some(number)), Some(middle.as_str()));
            prop_assert_eq!(cut(Cut::Left, &text, first, None), Some(left.as_str()));
            prop_assert_eq!(cut(Cut::Right, &text, first, None), Some(right.as_str()));
        }

        #[test]
        fn any_bytes_have_pieces(
            text in proptest::collection::vec(any::<u8>(), 0..8),
            first in any::<i32>(),
            second in proptest::option::of(any::<i32>()),
        ) {
            for cut in [Cut::Left, Cut::Right, Cut::Substring] {
                let range = cut.find(&text, first.into(), second.map(i64::from));
                prop_assert!(range.is_none_or(|range| text.get(range).is_some()));
            }
        }
    }
}
