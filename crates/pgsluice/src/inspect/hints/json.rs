//! NDJSON inputs whose lines are not objects, and the programs that rewrite them.

use serde::de::IgnoredAny;

use super::Advice;
use super::case::{HintCase, Sample};
use crate::source::FileFormat;

/// Removes a comma after each object.
const COMMAS: &str = "sed 's/,[[:space:]]*$//'";

/// Also removes the brackets of an array, if they are on separate lines.
const COMMAS_AND_BRACKETS: &str =
    "sed -e '/^[[:space:]]*[][][[:space:]]*$/d' -e 's/,[[:space:]]*$//'";

/// Suggests a program that writes each object on one line, if it can read the input.
pub(super) fn lines(case: &HintCase<'_>) -> Option<Advice> {
    if case.how.file_format != FileFormat::Ndjson || case.code() != "22P04" {
        return None;
    }
    let sample = case.sample.as_ref()?;
    // If the object is complete, the error has another cause.
    if is_object(sample.raw.as_ref()?) || !case.how.encoding.is_utf8() {
        return None;
    }
    let (what, filter) = match commas(sample) {
        Some(filter) => ("A comma follows each object", filter),
        None if is_sequence(&sample.text, sample.is_whole) => {
            ("Each object needs a line of its own", "jq -c .")
        }
        None => return None,
    };
    Some(sample.filter(what, filter).into())
}

fn is_object(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// Whether the text is a sequence of objects that `jq` can read. The last object may be cut off.
fn is_sequence(text: &[u8], is_whole: bool) -> bool {
    let mut objects = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let first = objects.next().is_some_and(|first| first.is_ok());
    let others = objects.all(|object| object.is_ok_or_cut(is_whole));
    text.trim_ascii_start().starts_with(b"{") && first && others
}

trait LineCut {
    fn is_ok_or_cut(&self, is_whole: bool) -> bool;
}

impl<T> LineCut for serde_json::Result<T> {
    fn is_ok_or_cut(&self, is_whole: bool) -> bool {
        self.as_ref().map_or_else(|error| error.is_eof() && !is_whole, |_| true)
    }
}

/// Returns the filter that removes commas, if every line without its comma is an object.
fn commas(sample: &Sample) -> Option<&'static str> {
    let lines = sample.text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines: Vec<&[u8]> = lines.collect();
    if !sample.is_whole {
        lines.pop();
    }
    let is_bracket = |line: &&[u8]| matches!(*line, b"[" | b"]");
    let has_brackets = lines.iter().any(is_bracket);
    let has_commas = lines.iter().any(|line| line.ends_with(b","));
    let mut objects = lines.into_iter().filter(|line| !line.is_empty() && !is_bracket(line));
    let are_objects = objects.all(|line| is_object(line.strip_suffix(b",").unwrap_or(line)));
    let filter = if has_brackets { COMMAS_AND_BRACKETS } else { COMMAS };
    (has_commas && are_objects).then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Sample {
        Sample {
            text: text.into(),
            is_whole: true,
            reader: "cat {}".to_owned(),
            ..Sample::default()
        }
    }

    #[test]
    fn only_a_program_that_reads_the_input_is_named() {
        assert!(is_sequence(b"{\"id\":1} {\"id\":2}\n{\n \"id\":3\n}", true));
        assert!(is_sequence(b"{\"id\":1}\n{\"id\"", false));
        assert!(!is_sequence(b"{\"id\":1},\n{\"id\":2}", true));
        assert!(!is_sequence(b"{'id':1}\n", true));
        assert_eq!(commas(&sample("{\"id\":1},\n{\"id\":2} , \n")), Some(COMMAS));
        assert_eq!(commas(&sample("{\"id\":1},\n{\"id\":2}, \n")), Some(COMMAS));
        assert_eq!(commas(&sample("[\n{\"id\":1},\n{\"id\":2},\n]\n")), Some(COMMAS_AND_BRACKETS));
        assert_eq!(commas(&sample("{\"id\":1}\n")), None);
        assert_eq!(commas(&sample("{\"id\":1,\n\"b\":2}\n")), None);
    }
}
