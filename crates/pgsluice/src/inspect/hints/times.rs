//! Times in the notations of DB2 and JavaScript.

use super::Advice;
use super::case::HintCase;
use super::values::value;

/// Converts `2026-01-05-00.20.09` into `2026-01-05 00:20:09`, and a field `00.20.09` into `00:20:09`.
const DB2: &str = "sed -E -e 's/([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9]{2})[.]([0-9]{2})[.]([0-9]{2})/\\1 \\2:\\3:\\4/g' \
     -e ':a' -e 's/(^|[^0-9.-])([0-9]{2})[.]([0-9]{2})[.]([0-9]{2})($|[^0-9.])/\\1\\2:\\3:\\4\\5/' -e 'ta'";

/// Removes the name of the time zone, and `GMT` before its hours.
const JAVASCRIPT: &str = "sed -E 's/ GMT([-+][0-9]{4}) [(][^)]*[)]/ \\1/g'";

/// Suggests a program that converts times into PostgreSQL's notation, if it changes nothing else in the
/// sample.
pub(super) fn spelling(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| matches!(case.code(), "22007" | "22008" | "22023"))?;
    let value = value(case)?;
    let (what, filter, changed) = match () {
        () if value.contains(" GMT") => {
            ("The times are written as JavaScript writes them", JAVASCRIPT, rewrite_zone(text))
        }
        () if find_dotted(value.as_bytes()).is_some() => {
            ("The times have points, as DB2 writes them", DB2, with_colons(text))
        }
        () => return None,
    };
    let sample = case.sample.as_ref()?;
    (changed != text && case.fits_changed(&changed)).then(|| sample.filter(what, filter).into())
}

/// Returns the position of the first point of a time such as `00.20.09`, alone or after a date.
fn find_dotted(text: &[u8]) -> Option<usize> {
    let start = match text.get(10) {
        Some(b'-') if is_date(&text[..10]) => 11,
        _ => 0,
    };
    is_like(text.get(start..start + 8)?, b"99.99.99").then_some(start + 2)
}

fn is_date(text: &[u8]) -> bool {
    is_like(text, b"9999-99-99")
}

/// Whether a text has the length of a pattern, digits where the pattern has a 9, and the pattern's other
/// characters.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let is = |(byte, of): (&u8, &u8)| if *of == b'9' { byte.is_ascii_digit() } else { byte == of };
    text.len() == pattern.len() && text.iter().zip(pattern).all(is)
}

/// Returns the output of [`DB2`] for a text.
fn with_colons(text: &[u8]) -> Vec<u8> {
    let mut changed = text.to_vec();
    let is_of_number = |byte: Option<&u8>, signs: &[u8]| {
        byte.is_some_and(|byte| byte.is_ascii_digit() || signs.contains(byte))
    };
    for at in 0..text.len() {
        let stamp = text.get(at..at + 19).filter(|it| is_like(it, b"9999-99-99-99.99.99"));
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let is_alone = !is_of_number(before, b".-") && !is_of_number(text.get(at + 8), b".");
        let time = text.get(at..at + 8).filter(|it| is_alone && is_like(it, b"99.99.99"));
        if stamp.is_some() {
            changed[at + 10] = b' ';
        }
        let start = if stamp.is_some() { at + 11 } else { at };
        if stamp.or(time).is_some() {
            changed[start + 2] = b':';
            changed[start + 5] = b':';
        }
    }
    changed
}

/// Returns the output of [`JAVASCRIPT`] for a text.
fn rewrite_zone(text: &[u8]) -> Vec<u8> {
    let mut changed = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let zone = rest.strip_prefix(b" GMT").and_then(|zone| zone.get(..7).zip(Some(zone)));
        let is_zone =
            |head: &[u8]| matches!(head[0], b'+' | b'-') && is_like(&head[1..], b"9999 (");
        let end = zone.filter(|(head, _)| is_zone(head)).and_then(|(head, zone)| {
            let line = zone.split(|byte| *byte == b'\n').next()?;
            Some((head, &zone[memchr::memchr(b')', line)? + 1..]))
        });
        match end {
            Some((head, after)) => {
                changed.push(b' ');
                changed.extend(&head[..5]);
                rest = after;
            }
            None => {
                changed.push(byte);
                rest = after;
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_and_versions_do_not() {
        let text = b"\"2015-07-01-00.20.09.41\",20150701,\"00.05.02\",1.00.05.02,00.05.02";
        let changed = b"\"2015-07-01 00:20:09.41\",20150701,\"00:05:02\",1.00.05.02,00:05:02";
        assert_eq!(with_colons(text), changed);
        assert!(
            find_dotted(b"2015-07-01-00.20.09.41").is_some() && find_dotted(b"00.05.02").is_some()
        );
        assert!(find_dotted(b"00:05:02").is_none());
        let date = b"1,Tue Sep 26 2017 22:09:10 GMT-0600 (MDT)\n2, GMT\n";
        assert_eq!(rewrite_zone(date), b"1,Tue Sep 26 2017 22:09:10 -0600\n2, GMT\n");
    }
}
