//! Names for new partitions. They follow the pattern of their neighbours if it can be recognised; otherwise
//! they consist of the table's name and the bound. They are never names that exist.

use std::collections::HashSet;

use pgsluice_core::catalog::Relation;

/// `NAMEDATALEN - 1`: the server truncates longer names.
const LONGEST: usize = 63;

/// The names of tables and types in all relevant schemas.
#[derive(Debug, Default)]
pub(crate) struct ExistingNames(HashSet<(String, String)>);

impl ExistingNames {
    pub(crate) fn new(names: Vec<(String, String)>) -> Self {
        Self(names.into_iter().collect())
    }

    /// Returns `name` if it is free, otherwise the first free one of `name_1`, `name_2` and so on.
    pub(crate) fn free(&mut self, schema: &str, name: &str) -> Relation {
        let mut number = 0;
        loop {
            let suffix = if number == 0 { String::new() } else { format!("_{number}") };
            let name = format!("{}{suffix}", cut(name, LONGEST - suffix.len()));
            if self.0.insert((schema.to_owned(), name.clone())) {
                return Relation { schema: schema.to_owned(), name };
            }
            number += 1;
        }
    }
}

/// Returns the longest prefix of `name` that has at most `length` bytes.
fn cut(name: &str, length: usize) -> &str {
    let end = (0..=length.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

/// Returns the name of a partition whose neighbour is called `neighbour`. `spellings` pairs the neighbour's
/// value with the new one's in several ways; the first that is found counts.
pub(crate) fn alike(neighbour: &str, spellings: &[(String, String)]) -> Option<String> {
    // A part that both values share carries no information.
    let mut spellings = spellings.iter().filter(|(old, new)| old != new);
    spellings.find_map(|(old, new)| {
        let at = neighbour.rfind(old.as_str()).filter(|_| !old.is_empty())?;
        let (before, after) = (&neighbour[..at], &neighbour[at + old.len()..]);
        // A part of a longer number or word is not a value.
        let apart = |next: Option<char>, edge: Option<char>| match (next, edge) {
            (Some(next), Some(edge)) if edge.is_ascii_digit() => !next.is_ascii_digit(),
            (Some(next), Some(_)) => !next.is_alphanumeric(),
            _ => true,
        };
        let whole = apart(before.chars().next_back(), old.chars().next())
            && apart(after.chars().next(), old.chars().next_back());
        whole.then(|| format!("{before}{}{after}", readable(new, old)))
    })
}

/// Returns a value as a part of a name: letters, digits, `_`, and other characters only if the neighbour's
/// value has them.
fn readable(value: &str, neighbour: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || neighbour.contains(c);
    value.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Returns `table` with the value appended. Characters that need quotes become `_`.
pub(crate) fn after_value(table: &str, value: Option<&str>) -> String {
    let Some(value) = value else { return format!("{table}_null") };
    let value = value.strip_suffix(" 00:00:00").unwrap_or(value).replace('-', "_");
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("{table}_{}", value.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
        values.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn names_follow_the_neighbour() {
        let months = pairs(&[("2024_01_01", "2024_02_01"), ("2024_01", "2024_02")]);
        assert_eq!(alike("t_2024_01", &months).as_deref(), Some("t_2024_02"));
        assert_eq!(alike("t_2024_01_01_x", &months).as_deref(), Some("t_2024_02_01_x"));
        assert_eq!(alike("t_12024_01", &months), None);
        assert_eq!(alike("t_10", &pairs(&[("0", "1")])), None);
        assert_eq!(
            alike("part_de", &pairs(&[("DE", "FR"), ("de", "fr")])).as_deref(),
            Some("part_fr")
        );
        assert_eq!(alike("made", &pairs(&[("de", "fr")])), None);
        let odd = pairs(&[("de", "new york; x\"y")]);
        assert_eq!(alike("part_de", &odd).as_deref(), Some("part_new_york__x_y"));
    }

    #[test]
    fn names_are_free_and_short() {
        let mut names = ExistingNames::new(vec![("s".to_owned(), "a".to_owned())]);
        assert_eq!(names.free("s", "a").name, "a_1");
        assert_eq!(names.free("s", "a").name, "a_2");
        assert_eq!(names.free("other", "a").name, "a");
        let long = "ä".repeat(40);
        assert_eq!(names.free("s", &long).name.len(), 62);
        assert_eq!(names.free("s", &long).name.len(), 62);
    }

    #[test]
    fn values_become_names() {
        assert_eq!(after_value("t", Some("2024-02-01")), "t_2024_02_01");
        assert_eq!(after_value("t", Some("2024-02-01 00:00:00")), "t_2024_02_01");
        assert_eq!(after_value("t", Some("It's")), "t_it_s");
        assert_eq!(after_value("t", None), "t_null");
    }
}
