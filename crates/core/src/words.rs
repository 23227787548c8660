//! Texts that name options of a load. Each interface spells them in its own way: `--on-conflict skip` on the
//! command line, `on_conflict="skip"` in Python.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Range};

/// Options whose value is optional and must therefore follow an equals sign.
const JOINED: [&str; 2] = ["exchange", "header"];

/// Character around each name in a line.
const MARK: char = '\u{1f}';

/// An option of a load, and its value, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the option, without the dashes of the command line.
    pub name: Cow<'static, str>,
    /// Value of the option, as on the command line.
    pub value: Option<String>,
}

/// Returns the option with this name, without a value.
pub fn option(name: impl Into<Cow<'static, str>>) -> Setting {
    Setting { name: name.into(), value: None }
}

impl Setting {
    /// Sets the value.
    #[must_use]
    pub fn with(self, value: impl Into<String>) -> Self {
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

/// A name in a text that each interface spells in its own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// An option.
    Option(Setting),
    /// A command, as on the command line.
    Command(&'static str),
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(option) => option.fmt(f),
            Self::Command(command) => f.write_str(command),
        }
    }
}

/// A text, and the options and commands in it, in the spelling of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    text: String,
    /// Position of each name in the text.
    named: Vec<(Range<usize>, Named)>,
}

/// Returns a text that consists of a command, as on the command line.
pub fn command(command: &'static str) -> Words {
    Words::default().and(Named::Command(command))
}

impl Words {
    /// Returns the text in the spelling of the command line.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text with each name as `spell` spells it.
    pub fn spell(&self, spell: impl Fn(&Named) -> String) -> String {
        let mut spelled = String::new();
        for (text, named) in self.pieces() {
            spelled.push_str(text);
            named.iter().for_each(|named| spelled.push_str(&spell(named)));
        }
        spelled
    }

    /// Returns the text with `from` replaced by `to`, also in values of options.
    #[must_use]
    pub fn replace(&self, from: &str, to: &str) -> Self {
        let mut replaced = Self::default();
        for (text, named) in self.pieces() {
            replaced.text.push_str(&text.replace(from, to));
            replaced = match named {
                Some(Named::Option(Setting { name, value })) => {
                    let value = value.as_ref().map(|value| value.replace(from, to));
                    replaced + Setting { name: name.clone(), value }
                }
                Some(command) => replaced.and(command.clone()),
                None => replaced,
            };
        }
        replaced
    }

    /// Returns the text as a single line, which [`Self::from_line`] can read.
    pub fn to_line(&self) -> String {
        let plain = |text: &str| text.replace(MARK, "\u{fffd}");
        let mut line = String::new();
        for (text, named) in self.pieces() {
            line.push_str(&plain(text));
            match named {
                Some(Named::Option(Setting { name, value })) => {
                    let value = value.as_ref().map(|value| format!("={}", plain(value)));
                    line.push_str(&format!("{MARK}{name}{}{MARK}", value.unwrap_or_default()));
                }
                Some(Named::Command(command)) => line.push_str(command),
                None => {}
            }
        }
        line
    }

    /// Reads a line that [`Self::to_line`] wrote.
    pub fn from_line(line: &str) -> Self {
        let mut words = Self::default();
        for (place, part) in line.split(MARK).enumerate() {
            words = match part.split_once('=') {
                _ if place % 2 == 0 => words + part,
                Some((name, value)) => words + option(name.to_owned()).with(value),
                None => words + option(part.to_owned()),
            };
        }
        words
    }

    /// Returns each name with the text before it, and finally the rest of the text.
    fn pieces(&self) -> impl Iterator<Item = (&str, Option<&Named>)> {
        let ends = self.named.iter().map(|(place, _)| place.end);
        let starts = self.named.iter().map(|(place, named)| (place.start, Some(named)));
        let begins = std::iter::once(0).chain(ends);
        let stops = starts.chain([(self.text.len(), None)]);
        begins.zip(stops).map(|(begin, (end, named))| (&self.text[begin..end], named))
    }

    fn and(mut self, named: Named) -> Self {
        let begin = self.text.len();
        self.text.push_str(&named.to_string());
        self.named.push((begin..self.text.len(), named));
        self
    }
}

impl From<Setting> for Words {
    fn from(option: Setting) -> Self {
        Self::default().and(Named::Option(option))
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self { text, named: Vec::new() }
    }
}

impl From<&String> for Words {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<T: Into<Words>> Add<T> for Words {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        let (more, begin) = (more.into(), self.text.len());
        self.text.push_str(&more.text);
        let moved =
            |(place, named): (Range<usize>, _)| (place.start + begin..place.end + begin, named);
        self.named.extend(more.named.into_iter().map(moved));
        self
    }
}

impl<T: Into<Words>> Add<T> for Setting {
    type Output = Words;

    fn add(self, more: T) -> Words {
        Words::from(self) + more
    }
}

impl Add<Setting> for &str {
    type Output = Words;

    fn add(self, option: Setting) -> Words {
        Words::from(self) + option
    }
}

impl Add<Words> for &str {
    type Output = Words;

    fn add(self, words: Words) -> Words {
        Words::from(self) + words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back() {
        let words = "Use "
            + option("map").with("{key}=a")
            + ", or "
            + option("round")
            + "."
            + command(" plan").as_str();
        assert_eq!(words.as_str(), "Use --map {key}=a, or --round. plan");
        let replaced = words.replace("{key}", "k=\u{1f}");
        assert_eq!(Words::from_line(&words.to_line()), words);
        let line = Words::from_line(&replaced.to_line());
        assert_eq!(
            line.spell(|named| format!("<{named}>")),
            "Use <--map k=\u{fffd}=a>, or <--round>. plan"
        );
    }
}
