//! Dates whose day and month are in another order than that of DateStyle.

use super::Advice;
use super::case::{HintCase, OwnedValue};
use crate::error::{CommandChange, Remedy};

/// Suggests a DateStyle with which the refused date and all others of its column can be read.
pub(super) fn order(case: &HintCase<'_>) -> Option<Advice> {
    if !matches!(case.code(), "22008" | "22007") {
        return None;
    }
    let column = case.column.zip(case.sample.as_ref());
    let dates: Vec<Vec<u8>> = match column {
        Some((at, sample)) => {
            let rows = sample.rows.iter().chain(&sample.row);
            let fields = rows.map(|row| case.field(case.format, row, at));
            fields
                .filter_map(|field| match field {
                    OwnedValue::Text(text) => Some(text),
                    _ => None,
                })
                .collect()
        }
        None => vec![value(case.error.message())?.as_bytes().to_vec()],
    };
    let refused = match column {
        Some((at, sample)) => match case.field(case.format, sample.row.as_ref()?, at) {
            OwnedValue::Text(text) => text,
            _ => return None,
        },
        None => dates.first()?.clone(),
    };
    let (first, second) = day_and_month(&refused)?;
    let style = match (first, second) {
        (13..=31, 1..=12) => "dmy",
        (1..=12, 13..=31) => "mdy",
        _ => return None,
    };
    let fits = |date: &Vec<u8>| {
        day_and_month(date).is_none_or(|(first, second)| match style {
            "dmy" => first <= 31 && second <= 12,
            _ => first <= 12 && second <= 31,
        })
    };
    let words = match style {
        "dmy" => "The dates have the day before the month",
        _ => "The dates have the month before the day",
    };
    let how = CommandChange::Session("datestyle".to_owned(), format!("iso,{style}"));
    dates.iter().all(fits).then(|| Remedy { what: words.into(), how }.into())
}

/// Returns the value at the end of a server message.
fn value(message: &str) -> Option<&str> {
    message.strip_suffix('"')?.rsplit_once('"').map(|(_, value)| value)
}

/// Returns the first two numbers of a date that ends with its year: `25/12/2026`, `3.8.26 10:00`.
fn day_and_month(date: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(date).ok()?.trim();
    let day = text.split([' ', 'T']).next()?;
    let mut parts = day.split(['/', '-', '.']);
    let mut number = |max: usize| {
        let part = parts.next()?;
        let is_number = (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_number)
    };
    let (first, second, _year) = (number(2)?, number(2)?, number(4)?);
    parts.next().is_none().then_some((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_are_found() {
        for (date, expected) in [
            ("25/12/2026", Some((25, 12))),
            (" 3.8.26 10:00", Some((3, 8))),
            ("2026-12-25", None),
            ("1735689600", None),
            ("1-2", None),
            ("1/2/3/4", None),
        ] {
            assert_eq!(day_and_month(date.as_bytes()), expected, "{date}");
        }
        assert_eq!(value("date/time field value out of range: \"25/12/2026\""), Some("25/12/2026"));
    }
}
