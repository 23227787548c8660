//! money: an amount in hundredths, spelled as in an English locale.

use super::{digits, wire};

/// Encodes a text that `cash_in` accepts as `cash_recv` expects it (`src/backend/utils/adt/cash.c`, PostgreSQL
/// 13 to 18): `-$1,234.56`, in which the sign, the dollar, the commas and the hundredths are optional. The
/// caller guarantees that the session's lc_monetary gives them this meaning.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let text = text.strip_prefix(b"$").unwrap_or(text);
    let (whole, hundredths) = match text {
        [whole @ .., b'.', tens, units] => (whole, digits::number(&[*tens, *units])?),
        [whole @ .., b'.', tens] => (whole, digits::number(&[*tens])? * 10),
        _ => (text, 0),
    };
    let amount = i64::try_from(parse_grouped(whole)? * 100 + hundredths).ok()?;
    wire::put8((if negative { -amount } else { amount }) as u64, field);
    Some(())
}

/// Parses a number whose digits are plain or in groups of three.
fn parse_grouped(text: &[u8]) -> Option<u64> {
    if !text.contains(&b',') {
        return digits::number(text);
    }
    let mut groups = text.split(|&byte| byte == b',');
    let first = groups.next().filter(|first| first.len() <= 3)?;
    groups.try_fold(digits::number(first)?, |number, group| {
        // This limit prevents an overflow.
        let fits = group.len() == 3 && number < 10_000_000_000_000;
        fits.then(|| digits::number(group))?.map(|group| number * 1_000 + group)
    })
}

#[cfg(test)]
mod tests {
    use super::encode;

    fn read(text: &str) -> Option<i64> {
        let mut field = Vec::new();
        encode(text.as_bytes(), &mut field)?;
        field.last_chunk().map(|bytes| i64::from_be_bytes(*bytes))
    }

    #[test]
    fn amounts_are_in_hundredths() {
        for (text, amount) in [
            ("$0.00", 0),
            ("1", 100),
            ("-1.5", -150),
            ("$1,234,567.89", 123_456_789),
            ("-$999.99", -99_999),
            ("9999999999999999.99", 999_999_999_999_999_999),
        ] {
            assert_eq!(read(text), Some(amount), "{text}");
        }
        for text in [
            "",
            "$",
            "-",
            "$-1",
            "1.",
            ".5",
            "1.234",
            "1,23",
            "1234,567",
            ",123",
            "1 ",
            "(1)",
            "€1",
            "--1",
            "99999999999999999",
            "1,,234",
            "9,999,999,999,999,999,999",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
