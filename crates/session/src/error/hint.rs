//! The next steps of an error, and its wording in each interface.

use std::mem;

use pgsluice_core::words::{Named, Words};

use super::{Error, Remedy};

/// A next step to take.
#[derive(Clone, Debug)]
pub(super) enum Hint {
    Sentence(Words),
    Remedy(Remedy),
}

impl Error {
    /// Adds the next step to take.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Words>) -> Self {
        self.0.hints.push(Hint::Sentence(hint.into()));
        self
    }

    /// Sets the next step, replacing any other.
    #[must_use]
    pub fn only_hint(mut self, hint: impl Into<Words>) -> Self {
        self.0.hints = vec![Hint::Sentence(hint.into())];
        self
    }

    /// Removes the next steps where they do not apply.
    #[must_use]
    pub fn without_hint(mut self) -> Self {
        self.0.hints.clear();
        self
    }

    /// Adds a remedy to the hint.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.0.hints.push(Hint::Remedy(remedy));
        self
    }

    /// Removes the remedy that rounds values from the hint. Returns whether it was there.
    pub fn take_round(&mut self) -> bool {
        let before = self.0.hints.len();
        self.0.hints.retain(|hint| !matches!(hint, Hint::Remedy(remedy) if remedy.rounds()));
        self.0.hints.len() < before
    }

    /// Returns the remedies that the hint names.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.0.hints.iter().filter_map(|hint| match hint {
            Hint::Remedy(remedy) => Some(remedy),
            Hint::Sentence(_) => None,
        })
    }

    /// Words the error for an interface: `spell` spells options, and `way` writes the command of a remedy if it
    /// knows a better one than the usual.
    #[must_use]
    pub fn spell(
        mut self,
        spell: impl Fn(&Named) -> String,
        way: impl Fn(&Remedy) -> Option<String>,
    ) -> Self {
        let report = &mut *self.0;
        report.message = report.message.spell(&spell).into();
        report.detail = report.detail.take().map(|detail| detail.spell(&spell).into());
        let spelled = mem::take(&mut report.hints).into_iter().map(|hint| match hint {
            Hint::Sentence(words) => words.spell(&spell),
            Hint::Remedy(remedy) => {
                let command = way(&remedy).unwrap_or_else(|| remedy.command());
                format!("{}: {command}", remedy.what.spell(&spell))
            }
        });
        report.hints = spelled.map(|hint| Hint::Sentence(hint.into())).collect();
        self
    }

    /// Returns the next steps to take, one per line.
    pub fn hint(&self) -> Option<String> {
        let lines = self.0.hints.iter().map(|hint| match hint {
            Hint::Sentence(words) => words.as_str().to_owned(),
            Hint::Remedy(remedy) => format!("{}: {}", remedy.what.as_str(), remedy.command()),
        });
        Some(lines.collect::<Vec<_>>().join("\n")).filter(|hint| !hint.is_empty())
    }
}
