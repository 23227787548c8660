//! Volatility: values that pgsluice does not ask the server about, because the answer may differ later.
//!
//! A resumed load computes the node of every row again. The route of a row must therefore depend only on its
//! bytes, the tree and the recorded terms, never on the clock.

use pgsluice_core::types::KeyType;

/// The volatility of the meaning of a field's text, which restricts the questions about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Volatility {
    /// The server always reads them the same way.
    #[default]
    Immutable,
    /// They may contain a word for the time of the question, such as `now`.
    ClockWords,
    /// Times of day with a zone. A named or missing zone takes its offset from the current date. The offset
    /// of the session's zone is given if it never changes.
    Zoned(Option<i32>),
    /// Their meaning depends on more than the row, such as the catalogue.
    Volatile,
}

/// The words in `datetime.c` (PostgreSQL 13 to 18) that stand for the time of the question.
const CLOCK_WORDS: [&[u8]; 4] = [b"now", b"today", b"tomorrow", b"yesterday"];

impl Volatility {
    /// Whether the server may be asked about the value `text`.
    pub(crate) fn admits(self, text: &[u8], scratch: &mut Vec<u8>) -> bool {
        match self {
            Self::Immutable => true,
            Self::ClockWords => !names_the_clock(text),
            Self::Zoned(zone) => {
                KeyType::Timetz { precision: 6, zone }.parse(text, scratch).is_some()
            }
            Self::Volatile => false,
        }
    }
}

/// Whether `text` contains such a word as a token: `ParseDateTime` takes consecutive letters for a token. In
/// a composite, a range or an array, quotes and backslashes may stand within the word.
fn names_the_clock(text: &[u8]) -> bool {
    let is_quoting = |byte: u8| matches!(byte, b'"' | b'\\');
    has_clock_word(text.iter().copied())
        || (text.iter().any(|&byte| is_quoting(byte))
            && has_clock_word(text.iter().copied().filter(|&byte| !is_quoting(byte))))
}

fn has_clock_word(text: impl Iterator<Item = u8>) -> bool {
    const LONGEST: usize = 9;
    let mut token = [0; LONGEST];
    let mut length = 0;
    let is_word = |token: &[u8; LONGEST], length: usize| {
        token.get(..length).is_some_and(|token| CLOCK_WORDS.contains(&token))
    };
    for byte in text {
        if !byte.is_ascii_alphabetic() {
            if is_word(&token, length) {
                return true;
            }
            length = 0;
            continue;
        }
        if let Some(slot) = token.get_mut(length) {
            *slot = byte.to_ascii_lowercase();
        }
        length += 1;
    }
    is_word(&token, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_time_of_the_question_are_found() {
        for text in [
            "now",
            "NOW",
            " today ",
            "tomorrow 12:00",
            "12:00 yesterday",
            "2024now",
            "now5",
            "[now,)",
            "{2024-01-01,\"Today\"}",
            "(1,n\\ow)",
            "(1,n\"o\"w)",
            "[\"now\",tomorrow)",
        ] {
            assert!(names_the_clock(text.as_bytes()), "{text}");
        }
        for text in
            ["", "snow", "nowhere", "yesterdays", "tomorrowly", "infinity", "1 Jan 2024", "no w"]
        {
            assert!(!names_the_clock(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_time_with_a_zone_needs_an_offset() {
        let admits =
            |zone, text: &str| Volatility::Zoned(zone).admits(text.as_bytes(), &mut Vec::new());
        assert!(admits(None, "12:00:00+02") && admits(Some(0), "12:00"));
        assert!(!admits(None, "12:00") && !admits(Some(0), "2024-01-01 12:00 Europe/Berlin"));
    }

    /// Checks the clock words: if a native type read one, a row could silently go to a different leaf on another
    /// day.
    #[test]
    fn no_native_type_reads_a_clock_word() {
        let scalars = [
            KeyType::Date,
            KeyType::Time { precision: 6 },
            KeyType::Timetz { precision: 6, zone: Some(0) },
            KeyType::Timestamp { precision: 6 },
            KeyType::Timestamptz { precision: 6, zone: Some(0) },
        ];
        let of = |ty: &KeyType| {
            [ty.clone(), KeyType::Array(ty.clone().into()), KeyType::Range(ty.clone().into())]
        };
        for ty in scalars.iter().flat_map(of) {
            for word in CLOCK_WORDS {
                let word = String::from_utf8_lossy(word).into_owned();
                for text in [
                    word.clone(),
                    word.to_uppercase(),
                    format!("{word} 12:00"),
                    format!("2024-01-01 {word}"),
                    format!("{{{word}}}"),
                    format!("[{word},)"),
                    format!("(,\"{word}\"]"),
                ] {
                    assert_eq!(ty.parse(text.as_bytes(), &mut Vec::new()), None, "{ty:?} {text}");
                }
            }
        }
    }
}
