//! The keys of objects, before they are assigned to columns.

use std::collections::HashSet;

use crate::objects::object;
use crate::refused::RefusedLine;
use crate::{string, visit};

/// The keys of objects, each once, in the order in which they first appear.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    names: Vec<String>,
    known: HashSet<String>,
    /// The only keys to look for, if not all.
    wanted: Option<HashSet<String>>,
}

impl Keys {
    /// Creates a collection that looks only for these keys.
    #[must_use]
    pub fn among(wanted: HashSet<String>) -> Self {
        Self { wanted: Some(wanted), ..Self::default() }
    }

    /// Whether all wanted keys were found.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.len() == self.names.len())
    }

    /// Adds the keys of one line. A rejected line adds none: it may be a bad row among good ones.
    pub fn add(&mut self, line: &[u8]) -> Result<(), RefusedLine> {
        let line = object(line)?;
        let before = self.names.len();
        let done = visit::members(line, line, |key, value| {
            string::check_key(line, &key, value)?;
            let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&*key));
            if is_wanted && !self.known.contains(&*key) {
                self.names.push(key.clone().into_owned());
                self.known.insert(key.into_owned());
            }
            Ok(())
        });
        if done.is_err() {
            self.names.drain(before..).for_each(|name| _ = self.known.remove(&name));
        }
        done
    }

    /// Returns the keys found so far.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn keys_are_those_of_good_lines() {
        let mut keys = Keys::default();
        let done: Vec<bool> = [
            r#"{"b":1,"a":{"x":[]}}"#,
            r#"{"c":1"#,
            r#" {"a":2,"\u0064":3,"":4} "#,
            "[1]",
            "{}",
            r#"{"c":1,"b":2}"#,
        ]
        .iter()
        .map(|line| keys.add(line.as_bytes()).is_ok())
        .collect();
        assert_eq!(done, [true, false, true, false, true, true]);
        assert_eq!(keys.names(), ["b", "a", "d", "", "c"]);
        let mut some = Keys::among(["a".to_owned(), "d".to_owned()].into());
        assert_eq!(some.add(br#"{"a":1,"b":2}"#), Ok(()));
        assert_eq!((some.names(), some.are_all()), (&["a".to_owned()][..], false));
        assert_eq!(some.add(br#"{"d":1}"#), Ok(()));
        assert!(some.are_all());
    }
}
