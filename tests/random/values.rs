//! Types of columns, the partition keys that they allow, and values for them.
//!
//! A bound is a rung of a ladder, which ascends in the order of the type. A field of a row is also a rung of
//! its column's ladder, or a value just below or above one, in PostgreSQL's own spelling or in another one
//! that the type reads.

mod compounds;
mod networks;
mod numbers;
mod strings;
mod times;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::lanes::Reading;

/// A column's type.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) sql: &'static str,
    /// The plain column as a key.
    pub(crate) plain: Form,
    /// Values that are not bounds: between the rungs, beyond them, or awkward.
    others: &'static [&'static str],
    /// Values in spellings that PostgreSQL reads but does not write.
    odd: &'static [&'static str],
    /// Values that are not read natively in any spelling.
    unread: &'static [&'static str],
    /// Expressions of the column as keys.
    pub(crate) forms: &'static [Form],
}

/// The key of a table: a column, or an expression of it.
#[derive(Debug)]
pub(crate) struct Form {
    /// The key in SQL, with `@` for the column.
    pub(crate) sql: &'static str,
    /// The values of bounds, ascending.
    pub(crate) ladder: &'static [&'static str],
    pub(crate) reading: Reading,
    /// Whether the type has an operator class for hash keys.
    pub(crate) hashes: bool,
}

/// Statements for the columns' types, run once per database. An ICU collation sorts like no other one.
/// Without ICU, any collation is used whose order is not known natively.
pub(crate) const TYPES: &str = "
CREATE TYPE public.mood AS ENUM ('low', 'high');
ALTER TYPE public.mood ADD VALUE 'mid' BEFORE 'high';
ALTER TYPE public.mood ADD VALUE 'none' BEFORE 'low';
CREATE DOMAIN public.whole AS integer CHECK (VALUE <> 13);
CREATE DOMAIN public.share AS public.whole;
CREATE DOMAIN public.code AS varchar(8) COLLATE \"C\" CHECK (VALUE <> 'bad');
CREATE TYPE public.pair AS (a integer, b text COLLATE \"C\");
DO $$ BEGIN
    CREATE COLLATION public.words (provider = icu, locale = 'en');
EXCEPTION WHEN OTHERS THEN
    CREATE COLLATION public.words (locale = 'C.UTF-8');
END $$";

/// Returns all types.
pub(crate) fn all() -> Vec<&'static Kind> {
    let all = [numbers::KINDS, strings::KINDS, times::KINDS, networks::KINDS, compounds::KINDS];
    all.into_iter().flatten().collect()
}

/// Returns any of the types.
pub(crate) fn kinds() -> impl Strategy<Value = &'static Kind> {
    select(all())
}

/// One field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The text; `None` is NULL.
    pub(crate) text: Option<String>,
    pub(crate) spelling: Spelling,
}

/// The spelling of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The spelling that PostgreSQL itself writes.
    Canonical,
    /// Another spelling.
    NotEncodable,
    /// Any spelling of a value that is not read natively.
    Unread,
}

impl Kind {
    /// Returns a field of this type; `choice`, up to [`CHOICES`], decides how unusual it is.
    pub(crate) fn field(&self, choice: u8, which: &Index) -> Field {
        let pick = |from: &[&str]| Some(which.get(from).to_string());
        let (text, spelling) = match choice {
            7..=11 if !self.others.is_empty() => (pick(self.others), Spelling::Canonical),
            12..=14 if !self.odd.is_empty() => (pick(self.odd), Spelling::NotEncodable),
            15 if !self.unread.is_empty() => (pick(self.unread), Spelling::Unread),
            CHOICES.. => (None, Spelling::Canonical),
            _ => (pick(self.plain.ladder), Spelling::Canonical),
        };
        Field { text, spelling }
    }
}

/// The last choice for [`Kind::field`], which is NULL.
pub(crate) const CHOICES: u8 = 16;

/// Returns a key that is read natively.
const fn native(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Native, hashes: true }
}

/// Returns a key of text whose non-ASCII characters are left to the server.
const fn ascii(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Ascii, hashes: true }
}

/// Returns a key of text whose order only the server may know.
const fn ordered(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Ordered, hashes: true }
}

/// Returns a key of text whose order only the server may know, without a way to ask the server.
const fn unordered(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Unordered, hashes: true }
}

/// Returns a key that the server evaluates.
const fn asked(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Asked, hashes: true }
}

impl Form {
    const fn without_hash(self) -> Self {
        Self { hashes: false, ..self }
    }

    /// Marks a key whose hash function belongs to another type before PostgreSQL 18, and so cannot be called.
    const fn with_hash_of_another(self) -> Self {
        Self { reading: Reading::Unhashed, ..self }
    }
}
