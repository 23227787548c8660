//! ByAny constraints: a row is skipped if any of them says that it is there.
//!
//! Of rows that share a key with one another by some of them, it depends on the rows before which are inserted. They are
//! tried in the order of the input ([`crate::duplicates`]). All rows are where a key cannot be read here, or where a
//! trigger may change it.

use pgsluice_core::catalog::KeyColumn;

use super::Key;
use super::index::Index;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{ChangeOptions, Duplicates, OnConflict};

/// The keys by which rows are the same.
#[derive(Clone, Debug)]
pub(crate) struct ByAny {
    /// Those that are read here.
    pub(crate) keys: Vec<Key>,
    /// Why all rows are tried in the order of the input, if they are.
    pub(crate) unread: Option<String>,
}

impl ByAny {
    /// The keys of indexes, with what the input has of the columns of each. `unread` says why there are others.
    pub(super) fn new<'i>(
        options: &ChangeOptions,
        indexes: impl Iterator<Item = (&'i Index, &'i Vec<KeyColumn>)>,
        mut unread: Option<String>,
    ) -> Result<Self> {
        let mut keys = Vec::new();
        for (index, found) in indexes {
            // NULL equals nothing.
            let is_null =
                |column: &KeyColumn| matches!(column, KeyColumn::Native { field: None, .. });
            if found.iter().any(is_null) && !index.joins_nulls {
                continue;
            }
            match Key::new(index, found) {
                Ok(key) => keys.push(key),
                Err(error) => _ = unread.get_or_insert(error.message().to_owned()),
            }
        }
        let why = match options.duplicates {
            Some(Duplicates::Last) => "several constraints identify a row",
            Some(Duplicates::Error) if unread.is_some() => "some keys of the input cannot be read",
            _ => return Ok(Self { keys, unread }),
        };
        let message = format!("--duplicates needs a key: {why}");
        Err(Error::new(Kind::Usage, message)
            .with_sqlstate("42P10")
            .with_hint("Use --key to list the columns that identify a row."))
    }

    /// Has all rows of one key tried in the order of the input, because triggers may change it, as `why` says. Then the
    /// last row of a key counts where rows are updated, and the first one where they are skipped.
    pub(super) fn in_turn(options: &ChangeOptions, why: String) -> Result<Self> {
        let by_itself = match options.on_conflict {
            OnConflict::Update => Duplicates::Last,
            OnConflict::Error | OnConflict::Skip | OnConflict::Delete => Duplicates::First,
        };
        let option = match options.duplicates {
            Some(duplicates) if duplicates != by_itself => "--duplicates",
            _ if options.delete_when.is_some() => "--delete-when",
            _ => return Ok(Self { keys: Vec::new(), unread: Some(why) }),
        };
        let message = format!("{option} needs unchanged keys, but {why}");
        Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
    }
}
