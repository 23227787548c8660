//! Tags: the notation for a program's values that JSON cannot express.
//!
//! Such a value is a string of NUL, a letter for its type, and its spelling. PostgreSQL's text contains no NUL,
//! so no other string begins with it.

/// The beginning of a tagged string in the text of a line.
pub(crate) const MARK: &str = "\"\\u0000";

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Date,
    /// A date and time without a time zone.
    Datetime,
    /// A date and time with the offset of its time zone.
    Zoned,
    Time,
    /// A time with the offset of its time zone.
    ZonedTime,
    Interval,
    /// A decimal number, or `NaN` or an infinity.
    Decimal,
    /// A floating-point number that is not finite.
    Infinite,
    /// A number of single precision, in its shortest spelling.
    Single,
    /// Bytes, in base 16.
    Bytes,
    Uuid,
    /// An IP address or network.
    Address,
}

/// A value with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tagged<'l> {
    pub(crate) tag: Tag,
    pub(crate) text: &'l str,
}

impl<'l> Tagged<'l> {
    /// Reads a tagged string with its quotes; returns `None` for any other value.
    pub(crate) fn read(raw: &'l str) -> Option<Self> {
        let mut rest = raw.strip_prefix(MARK)?.strip_suffix('"')?.chars();
        let tag = Tag::from_letter(rest.next()?)?;
        let text = rest.as_str();
        let is_plain = |byte: &u8| (b' '..0x7f).contains(byte) && !b"\"\\".contains(byte);
        text.as_bytes().iter().all(is_plain).then_some(Self { tag, text })
    }

    /// Returns a name for the value in messages, by its type in Python.
    pub(crate) fn name(self) -> &'l str {
        match self.tag {
            Tag::Date => "a date",
            Tag::Datetime => "a datetime",
            Tag::Zoned => "a datetime with a time zone",
            Tag::Time => "a time",
            Tag::ZonedTime => "a time with a time zone",
            Tag::Interval => "a timedelta",
            Tag::Decimal if self.is_finite() => "a Decimal",
            Tag::Decimal | Tag::Infinite => self.text,
            Tag::Single => "a single-precision float",
            Tag::Bytes => "bytes",
            Tag::Uuid => "a UUID",
            Tag::Address => "an IP address",
        }
    }

    /// Whether a number is finite.
    pub(crate) fn is_finite(self) -> bool {
        self.text.ends_with(|last: char| last.is_ascii_digit())
    }

    /// Whether a time is finer than a microsecond.
    pub(crate) fn has_nanoseconds(self) -> bool {
        let fraction = self.text.split_once('.').map_or("", |(_, fraction)| fraction);
        let digits = fraction.bytes().take_while(u8::is_ascii_digit);
        digits.skip(6).any(|digit| digit != b'0')
    }

    /// Returns the date of a date and time at midnight.
    pub(crate) fn date_at_midnight(self) -> Option<String> {
        let (date, time) = self.text.split_once('T')?;
        let (time, era) = match time.strip_suffix(" BC") {
            Some(time) => (time, " BC"),
            None => (time, ""),
        };
        let is_midnight = time.bytes().all(|byte| b"0:.".contains(&byte));
        is_midnight.then(|| format!("{date}{era}"))
    }

    /// Decodes the bytes.
    pub(crate) fn bytes(self) -> Option<Vec<u8>> {
        let digits = self.text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        digits.map(byte).collect()
    }
}

impl Tag {
    fn from_letter(letter: char) -> Option<Self> {
        Some(match letter {
            'd' => Self::Date,
            's' => Self::Datetime,
            'z' => Self::Zoned,
            't' => Self::Time,
            'T' => Self::ZonedTime,
            'i' => Self::Interval,
            'n' => Self::Decimal,
            'f' => Self::Infinite,
            'g' => Self::Single,
            'b' => Self::Bytes,
            'u' => Self::Uuid,
            'a' => Self::Address,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: Tag, text: &str) -> Tagged<'_> {
        Tagged { tag, text }
    }

    #[test]
    fn a_tag_is_read_of_no_other_string() {
        let read = Tagged::read(r#""\u0000d2026-01-02""#);
        assert_eq!(read, Some(tagged(Tag::Date, "2026-01-02")));
        for other in [r#""d2026""#, r#""\u0000""#, r#""\u0000?x""#, r#""\u0000dé""#, "1", "[]"] {
            assert_eq!(Tagged::read(other), None, "{other}");
        }
    }

    #[test]
    fn times_know_what_they_have() {
        assert!(tagged(Tag::Datetime, "2026-01-02T00:00:00.000000001").has_nanoseconds());
        assert!(!tagged(Tag::Zoned, "2026-01-02T00:00:00.123456000+01:00").has_nanoseconds());
        let date = |text| tagged(Tag::Datetime, text).date_at_midnight();
        assert_eq!(date("2026-01-02T00:00:00.0"), Some("2026-01-02".to_owned()));
        assert_eq!(date("0044-03-15T00:00:00 BC"), Some("0044-03-15 BC".to_owned()));
        assert_eq!(date("2026-01-02T00:00:01"), None);
    }

    #[test]
    fn bytes_are_in_base_16() {
        assert_eq!(tagged(Tag::Bytes, "00ff").bytes(), Some(vec![0, 255]));
        assert_eq!(tagged(Tag::Bytes, "0g").bytes(), None);
    }
}
