//! Hints: chooses the next step after an error about a row. Each rule examines the error, the row and its
//! neighbours, and tries its advice on them: a hint that does not help is worse than none.

mod case;
mod dates;
mod defaults;
mod encodings;
mod escapes;
mod excel;
mod extra;
mod fewer;
mod headers;
mod hopeless;
mod json;
mod keys;
mod line_ends;
mod lines;
mod nulls;
mod numbers;
mod partitions;
mod quotes;
mod reading;
#[cfg(test)]
mod tests;
mod times;
mod types;
mod values;

use self::case::HintCase;
pub(crate) use self::keys::{explain_changed, explain_duplicate};
use crate::error::{Error, Remedy, Words};
use crate::inspect::guess;
use crate::job::Job;
use crate::plan::Plan;

/// Text to add to an error.
#[derive(Debug, Default, PartialEq, Eq)]
struct Advice {
    remedies: Vec<Remedy>,
    /// A next step without a command.
    hint: Option<Words>,
    detail: Option<String>,
    /// Whether the error's own hint does not apply.
    replaces: bool,
}

impl From<Remedy> for Advice {
    fn from(remedy: Remedy) -> Self {
        Self { remedies: vec![remedy], ..Self::default() }
    }
}

impl Advice {
    /// Creates advice without a command.
    fn hint(text: impl Into<Words>) -> Self {
        Self { hint: Some(text.into()), ..Self::default() }
    }

    /// Creates advice that only explains.
    fn detail(text: impl Into<String>) -> Self {
        Self { detail: Some(text.into()), ..Self::default() }
    }

    /// Makes the advice replace the error's own hint.
    fn instead(self) -> Self {
        Self { replaces: true, ..self }
    }

    fn add_to(self, error: Error) -> Error {
        let error = if self.replaces { error.without_hint() } else { error };
        let error = self.detail.into_iter().fold(error, Error::with_detail);
        let error = self.hint.into_iter().fold(error, Error::with_hint);
        self.remedies.into_iter().fold(error, Error::with_remedy)
    }
}

/// A rule, which returns its advice if it applies.
type Rule = fn(&HintCase<'_>) -> Option<Advice>;

/// All rules. The first one that applies is used, so the more reliable ones come first.
const RULES: [Rule; 30] = [
    values::bits,
    encodings::utf_16,
    escapes::plain,
    encodings::other,
    line_ends::mixed,
    json::lines,
    partitions::missing,
    headers::again,
    lines::preamble,
    lines::empty,
    lines::comments,
    quotes::plain,
    quotes::none,
    escapes::before_quotes,
    escapes::before_delimiters,
    quotes::other,
    lines::in_quotes,
    nulls::spelling,
    defaults::empty,
    dates::order,
    times::spelling,
    excel::first_line,
    values::padded,
    values::arrays,
    values::nul,
    values::extended_json,
    values::python,
    numbers::spelling,
    types::wider,
    extra::fields,
];

/// Rules for an error that neither [`RULES`] nor the beginning of the input explains.
const LAST: [Rule; 3] = [fewer::columns, lines::short, lines::broken];

/// Adds advice about the underlying mistake to `error`, if a rule recognises it.
pub(crate) fn explain(error: Error, job: &Job, plan: &Plan) -> Error {
    let (advice, is_in_all) = {
        let Some(case) = HintCase::from_error(&error, job, plan) else { return error };
        let by_rules = |rules: &[Rule]| rules.iter().find_map(|rule| rule(&case));
        // An error about the header already has a remedy.
        let is_open = error.remedies().next().is_none();
        let advice = by_rules(&RULES)
            .or_else(|| guess::opening(&error, job, plan).map(Advice::from))
            .or_else(|| by_rules(&LAST).filter(|_| is_open));
        let has_way = advice.as_ref().is_some_and(|advice| !advice.remedies.is_empty()) || !is_open;
        (advice.unwrap_or_default(), !has_way && hopeless::is_in_all(&case))
    };
    let error = advice.add_to(error);
    match is_in_all {
        true if error.hint().is_none() => error.for_all_rows().with_hint(hopeless::HINT),
        true => error.for_all_rows(),
        false => error,
    }
}
