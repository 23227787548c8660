//! Members: the participants of a load, and the sum of their rows. Only this is kept of the shares of a
//! finished load.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::sql::FoundLoad;
use super::sql::json::parse;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};

/// The maximum number of participants that an error names.
const NAMED: usize = 5;

/// A set of rows regardless of their order: their number, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowSet {
    pub(crate) rows: u64,
    /// The sum of the hashes of the bytes that are sent for each row. It wraps.
    pub(crate) hash: u64,
}

/// The conditions under which a load is marked as finished.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The number of its participants; `None` for the number that the load was begun with, or for any if it
    /// had none.
    pub participants: Option<u32>,
    /// The sum of the hashes of their rows, see [`super::share::ShareSummary`]; `None` for any.
    pub rows_hash: Option<u64>,
}

/// The participants of a finished load. The ledger stores them in place of the load's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Members {
    /// A text for the user, shown where other loads have the names of inputs.
    name: String,
    /// Ranges of the participants whose names are numbers: the first, and the last.
    numbers: Vec<(u64, u64)>,
    others: BTreeSet<String>,
    /// The sum over their shares.
    pub(super) rows: RowSet,
}

impl Members {
    /// Creates the record of these participants and the sum of their rows.
    pub(super) fn new<'p>(participants: impl Iterator<Item = &'p str>, rows: RowSet) -> Self {
        let (mut numbers, mut others) = (BTreeSet::new(), BTreeSet::new());
        for participant in participants {
            match number(participant) {
                Some(number) => _ = numbers.insert(number),
                None => _ = others.insert(participant.to_owned()),
            }
        }
        let mut members = Self { others, rows, ..Self::default() };
        for number in numbers {
            match members.numbers.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => members.numbers.push((number, number)),
            }
        }
        members.name = words(members.count());
        members
    }

    /// Reads the record of a finished load. It is empty for a load without participants.
    pub(super) fn from_load(found: &FoundLoad) -> Result<Self> {
        Self::from_json(&found.sources)
    }

    /// Reads the record from the JSON that the ledger stores as the inputs of a finished load.
    pub(super) fn from_json(sources: &str) -> Result<Self> {
        Ok(parse::<Vec<Self>>(sources)?.pop().unwrap_or_default())
    }

    /// Whether this participant is a member.
    pub(super) fn contains(&self, participant: &str) -> bool {
        let is_within =
            |number| self.numbers.iter().any(|(first, last)| (*first..=*last).contains(&number));
        number(participant).map_or_else(|| self.others.contains(participant), is_within)
    }

    /// Returns the number of participants.
    pub(super) fn count(&self) -> u64 {
        let numbers: u64 = self.numbers.iter().map(|(first, last)| last - first + 1).sum();
        numbers + self.others.len() as u64
    }

    /// Returns the numbers below `count` that are missing.
    fn missing(&self, count: u32) -> impl Iterator<Item = u64> {
        (0..u64::from(count)).filter(|number| !self.contains(&number.to_string()))
    }

    /// Checks the participants against the conditions.
    pub(super) fn check(&self, id: &str, expected: &Expected) -> Result<()> {
        let found = self.count();
        if let Some(count) = expected.participants
            && u64::from(count) != found
        {
            return Err(self.wrong_number(id, count));
        }
        match expected.rows_hash {
            Some(hash) if hash != self.rows.hash => {
                let message = format!("load {id} has other rows in the table than these");
                Err(Error::new(Kind::Input, message).with_sqlstate("55000").with_detail(format!(
                    "The hash of its rows is {:016x}, not {hash:016x}.",
                    self.rows.hash
                )))
            }
            _ => Ok(()),
        }
    }

    fn wrong_number(&self, id: &str, count: u32) -> Error {
        let found = self.count();
        let message = format!("load {id} has {} in the table, not {count}", words(found));
        let error = Error::new(Kind::Server, message).with_sqlstate("55000");
        if found > u64::from(count) {
            return error.with_detail(
                "Its rows were divided among more participants when it began than they are now.",
            );
        }
        let hint = "Load the others, each with its own ".into();
        let hint: Words = hint;
        let error = error
            .with_hint(hint + option("participant") + ": those that are in are not loaded again.");
        let mut missing = self.missing(count);
        let named: Vec<String> = missing.by_ref().take(NAMED).map(|it| it.to_string()).collect();
        match missing.count() {
            // In this case they are not numbered from 0.
            _ if !self.others.is_empty() => error,
            0 => error.with_detail(format!("Missing: {}.", named.join(", "))),
            more => error.with_detail(format!("Missing: {} and {more} more.", named.join(", "))),
        }
    }
}

/// Returns the number that is the name of a participant, if it has no superfluous digits.
fn number(participant: &str) -> Option<u64> {
    participant.parse::<u64>().ok().filter(|number| number.to_string() == participant)
}

fn words(participants: u64) -> String {
    match participants {
        1 => "1 participant".to_owned(),
        number => format!("{number} participants"),
    }
}

impl RowSet {
    /// Adds other rows.
    pub(crate) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::sql::json::json;

    #[test]
    fn members_are_kept_as_ranges() {
        let names: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        let more = ["100001", "007", "a", "-1"];
        let all = names.iter().map(String::as_str).chain(more);
        let members = Members::new(all, RowSet { rows: 7, hash: 9 });
        assert_eq!(members.numbers, [(0, 99_999), (100_001, 100_001)]);
        assert_eq!((members.count(), &*members.name), (100_004, "100004 participants"));
        for there in ["0", "99999", "100001", "007", "a", "-1"] {
            assert!(members.contains(there), "{there}");
        }
        for absent in ["100000", "7a", "07", "1a", "", "b"] {
            assert!(!members.contains(absent), "{absent}");
        }
        let kept = json(&members).expect("JSON");
        assert!(kept.len() < 200, "{kept}");
        assert_eq!(parse::<Members>(&kept).expect("the same"), members);
    }

    #[test]
    fn the_missing_are_named() {
        let members = Members::new(["0", "2"].into_iter(), RowSet::default());
        assert_eq!(members.missing(5).collect::<Vec<_>>(), [1, 3, 4]);
        let check = |participants| {
            members.check("l", &Expected { participants: Some(participants), rows_hash: None })
        };
        let error = check(9).expect_err("too few").to_string();
        assert!(error.contains("Missing: 1, 3, 4, 5, 6 and 2 more."), "{error}");
        assert!(check(1).is_err() && check(2).is_ok());
    }
}
