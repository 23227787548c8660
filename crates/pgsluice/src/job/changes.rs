//! Changes of the table by input rows whose key exists.

use pgsluice_core::catalog::label;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};

/// The action for an input row whose key is already in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The server rejects it, like COPY.
    #[default]
    Error,
    /// The input row is skipped.
    Skip,
    /// The existing row is updated from the input row.
    Update,
    /// The existing row is deleted: the input is a list of keys.
    Delete,
}

impl OnConflict {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The input row that wins if several have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The first one.
    First,
    /// The last one.
    Last,
    /// Neither: the load fails before any row is sent.
    Error,
}

/// The rules by which input rows change existing rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeOptions {
    /// The action for a row whose key is already in the table.
    pub on_conflict: OnConflict,
    /// The columns that identify a row; `None` for the primary key, or, if rows are skipped, for any unique
    /// or exclusion constraint.
    pub key: Option<Vec<String>>,
    /// The columns that are updated; `None` for all columns of the input except the key.
    pub update: Option<Vec<String>>,
    /// A column: existing rows are changed only if the input has a greater value in it.
    pub newer: Option<String>,
    /// A column of the input that marks rows whose existing row is deleted instead.
    pub delete_when: Option<String>,
    /// Whether rows with new keys are skipped.
    pub no_insert: bool,
    /// The input row that wins if several have the same key; `None` for the last one if rows are updated, and
    /// otherwise the first one.
    pub duplicates: Option<Duplicates>,
}

impl ChangeOptions {
    /// Whether existing rows may be changed or skipped.
    pub(crate) fn is_any(&self) -> bool {
        self.on_conflict != OnConflict::Error
    }

    /// Returns the columns that options name.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &String> {
        let lists = self.key.iter().chain(&self.update).flatten();
        lists.chain(&self.newer).chain(&self.delete_when)
    }

    /// Returns which input row wins if several have the same key.
    pub(crate) fn counting(&self) -> Duplicates {
        self.duplicates.unwrap_or(match self.on_conflict {
            OnConflict::Update => Duplicates::Last,
            _ => Duplicates::First,
        })
    }

    /// Rejects invalid combinations of options.
    pub(super) fn check(&self) -> Result<()> {
        let of_update = [
            (self.update.is_some(), "update"),
            (self.newer.is_some(), "newer"),
            (self.delete_when.is_some(), "delete-when"),
            (self.no_insert, "no-insert"),
        ];
        let of_any = [(self.key.is_some(), "key"), (self.duplicates.is_some(), "duplicates")];
        let first = |given: &[(bool, &'static str)]| {
            given.iter().find(|(is_given, _)| *is_given).map(|(_, name)| *name)
        };
        if let Some(name) = first(&of_update).filter(|_| self.on_conflict != OnConflict::Update) {
            let message = option(name) + " applies only to rows that are updated";
            return usage(message, option("on-conflict").with("update").into());
        }
        if let Some(name) = first(&of_any).filter(|_| !self.is_any()) {
            let message =
                option(name) + " applies only to rows whose key may already be in the table";
            return usage(message, option("on-conflict").with("skip") + ", update or delete");
        }
        if self.newer.is_some() && self.duplicates.is_some() {
            let message =
                option("newer") + " already decides which of several rows with the same key wins";
            let hint = "Leave out " + option("duplicates") + ".";
            return Err(Error::new(Kind::Usage, message).with_hint(hint));
        }
        let lists = [(&self.key, "key"), (&self.update, "update")];
        for (columns, of) in lists {
            let Some(columns) = columns else { continue };
            if columns.is_empty() {
                let message = "the list of columns of " + option(of) + " is empty";
                return Err(Error::new(Kind::Usage, message));
            }
            let twice = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name));
            if let Some((_, name)) = twice {
                let message =
                    Words::from(format!("column \"{name}\" is named twice in ")) + option(of);
                return Err(Error::new(Kind::Usage, message).with_sqlstate("42701"));
            }
        }
        Ok(())
    }

    /// Returns the terms of a load that these options set, as names and values.
    pub(crate) fn terms(&self) -> Vec<(&'static str, String)> {
        let Self { on_conflict, key, update, newer, delete_when, no_insert, duplicates: _ } = self;
        if !self.is_any() {
            return Vec::new();
        }
        let duplicates = match self.counting() {
            _ if newer.is_some() => None,
            Duplicates::First => Some("first"),
            Duplicates::Last => Some("last"),
            Duplicates::Error => Some("error"),
        };
        let names = |columns: &Option<Vec<String>>| {
            let labels = columns.as_ref()?.iter().map(|name| label(name));
            Some(labels.collect::<Vec<_>>().join(","))
        };
        let terms = [
            ("on_conflict", Some(on_conflict.name().to_owned())),
            ("key", names(key)),
            ("update", names(update)),
            ("newer", newer.as_deref().map(label)),
            ("delete_when", delete_when.as_deref().map(label)),
            ("no_insert", no_insert.then(|| "true".to_owned())),
            ("duplicates", duplicates.map(str::to_owned)),
        ];
        terms.into_iter().filter_map(|(name, term)| Some((name, term?))).collect()
    }
}

fn usage(message: Words, more: Words) -> Result<()> {
    Err(Error::new(Kind::Usage, message).with_hint("Add " + more + "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_fit_together() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let update = ChangeOptions { on_conflict: OnConflict::Update, ..Default::default() };
        let newer = ChangeOptions { newer: Some("at".to_owned()), ..update.clone() };
        assert!(newer.check().is_ok());
        let wrong = [
            ChangeOptions { on_conflict: OnConflict::Skip, ..newer.clone() },
            ChangeOptions { key: names(&["a"]), ..Default::default() },
            ChangeOptions { duplicates: Some(Duplicates::Last), ..newer },
            ChangeOptions { key: names(&[]), ..update.clone() },
            ChangeOptions { key: names(&["a", "b", "a"]), ..update.clone() },
            ChangeOptions {
                no_insert: true,
                on_conflict: OnConflict::Delete,
                ..Default::default()
            },
        ];
        for options in wrong {
            assert_eq!(
                options.check().map_err(|error| error.kind()),
                Err(Kind::Usage),
                "{options:?}"
            );
        }
        assert_eq!(update.terms().len(), 2);
        assert_eq!(ChangeOptions::default().terms(), []);
    }
}
