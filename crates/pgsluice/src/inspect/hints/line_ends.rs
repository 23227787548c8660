//! Inputs with several styles of line ends.

use pgsluice_core::split::Splitter;

use super::Advice;
use super::case::HintCase;
use crate::source::FileFormat;

/// Suggests to unify all line ends, if that changes no other byte.
pub(super) fn mixed(case: &HintCase<'_>) -> Option<Advice> {
    let message = case.error.message();
    let is_end = ["carriage return found in data", "newline found in data"];
    let is_meant = case.code() == "22P04" && is_end.iter().any(|end| message.ends_with(end));
    if !is_meant || case.how.file_format != FileFormat::Delimited {
        return None;
    }
    if case.how.encoding.name().starts_with("UTF16") {
        return None;
    }
    let sample = case.sample.as_ref()?;
    let text = &sample.text[..];
    let (filter, what, same) = match returns(text) {
        Returns::BeforeNewlines => {
            let same = text.iter().copied().filter(|byte| *byte != b'\r').collect();
            ("tr -d '\\r' <", "Some lines end with CR LF, others with LF", same)
        }
        Returns::WithoutNewlines => {
            let newline = |byte: &u8| if *byte == b'\r' { b'\n' } else { *byte };
            let same: Vec<u8> = text.iter().map(newline).collect();
            ("tr '\\r' '\\n' <", "Some lines end with CR, others with LF", same)
        }
        Returns::Both => return None,
    };
    let mut rows = Vec::new();
    Splitter::new(case.format).scan(&same, sample.is_whole, &mut rows).ok()?;
    // A line end within quotes is data.
    let is_kept = rows.iter().all(|row| !row.slice(&same).contains(&b'\n'));
    is_kept.then(|| Advice::from(sample.filter(what, filter)).instead())
}

/// The position of carriage returns.
enum Returns {
    BeforeNewlines,
    WithoutNewlines,
    Both,
}

fn returns(text: &[u8]) -> Returns {
    let followers = memchr::memchr_iter(b'\r', text).filter_map(|at| text.get(at + 1));
    let (before, alone): (Vec<&u8>, Vec<&u8>) = followers.partition(|byte| **byte == b'\n');
    match (before.is_empty(), alone.is_empty()) {
        (_, true) => Returns::BeforeNewlines,
        (true, false) => Returns::WithoutNewlines,
        (false, false) => Returns::Both,
    }
}
