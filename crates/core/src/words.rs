//! Text that names options of a load. Each door spells them in its own way: `--on-conflict skip` on the command line,
//! `on_conflict="skip"` in Python.

use std::borrow::Cow;
use std::fmt;

/// Options whose value may be left out, so that an equals sign joins it.
const JOINED: [&str; 2] = ["exchange", "header"];

/// An option of a load, with its value if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, without the dashes of the command line.
    pub name: Cow<'static, str>,
    /// The value, as the command line takes it.
    pub value: Option<String>,
}

/// Returns the option of this name, without a value.
pub fn option(name: impl Into<Cow<'static, str>>) -> Setting {
    Setting { name: name.into(), value: None }
}

impl Setting {
    /// Sets the value.
    #[must_use]
    pub fn of(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// Returns the words of the command line.
    pub fn words(&self) -> impl Iterator<Item = String> + use<> {
        let Self { name, value } = self;
        let (first, second) = match value {
            Some(value) if JOINED.contains(&&**name) => (format!("--{name}={value}"), None),
            value => (format!("--{name}"), value.clone()),
        };
        [Some(first), second].into_iter().flatten()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join(" "))
    }
}
