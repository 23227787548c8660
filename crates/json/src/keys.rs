//! The keys that objects have, before it is known where they go.

use std::collections::HashSet;

use crate::objects::object;
use crate::refused::Refused;
use crate::{string, walk};

/// The keys of objects, each once, in the order in which they first come.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    names: Vec<String>,
    known: HashSet<String>,
}

impl Keys {
    /// Adds those of one line. A line that is refused adds none: it may be a bad row among good ones.
    pub fn add(&mut self, line: &[u8]) -> Result<(), Refused> {
        let line = object(line)?;
        let before = self.names.len();
        let done = walk::members(line, line, |key, value| {
            string::check_key(line, &key, value)?;
            if !self.known.contains(&*key) {
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

    /// The keys so far.
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
    }
}
