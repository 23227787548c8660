//! Types of columns, what a table may be partitioned by of each, and values for them.
//!
//! A bound is a rung of a ladder, which ascends in the order of the type. A row's field is a rung of
//! its column's ladder too, or a value just below or above one, spelled as PostgreSQL writes it or in
//! some other way that the type also reads.

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
    /// The column as a key.
    pub(crate) plain: Form,
    /// Values that are no bounds: between the rungs, beyond them, or awkward.
    others: &'static [&'static str],
    /// Values in spellings that PostgreSQL reads but does not write.
    odd: &'static [&'static str],
    /// Values that are not read natively however they are spelled.
    unread: &'static [&'static str],
    /// Expressions of the column as keys.
    pub(crate) forms: &'static [Form],
}

/// What a table is partitioned by: a column, or an expression of it.
#[derive(Debug)]
pub(crate) struct Form {
    /// As in SQL, `@` being the column.
    pub(crate) sql: &'static str,
    /// The values that bounds are made of, ascending.
    pub(crate) ladder: &'static [&'static str],
    pub(crate) reading: Reading,
    /// Whether the type has an operator class for hash keys.
    pub(crate) hashes: bool,
}

/// What the columns' types need, once in a database. An ICU collation sorts as no other does; without
/// ICU any will do whose order is not known natively.
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

/// All of the types.
pub(crate) fn all() -> Vec<&'static Kind> {
    let all = [numbers::KINDS, strings::KINDS, times::KINDS, networks::KINDS, compounds::KINDS];
    all.into_iter().flatten().collect()
}

/// Any of the types.
pub(crate) fn kinds() -> impl Strategy<Value = &'static Kind> {
    select(all())
}

/// One field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// `None` is NULL.
    pub(crate) text: Option<String>,
    pub(crate) spelling: Spelling,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As PostgreSQL itself writes it.
    Canonical,
    /// Otherwise.
    NotEncodable,
    /// In any way, for the value is not read natively.
    Unread,
}

impl Kind {
    /// A field of this type; `choice` is of [`CHOICES`] and decides how odd it is.
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

/// The last of the choices for [`Kind::field`], which is NULL.
pub(crate) const CHOICES: u8 = 16;

/// A key that is read natively.
const fn native(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Native, hashes: true }
}

/// A key of text whose characters beyond ASCII are left to the server.
const fn ascii(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Ascii, hashes: true }
}

/// A key of text whose order may be the server's to know.
const fn ordered(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Ordered, hashes: true }
}

/// A key of texts whose order may be the server's to know, and the server cannot be asked about.
const fn unordered(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Unordered, hashes: true }
}

/// A key that the server evaluates.
const fn asked(sql: &'static str, ladder: &'static [&'static str]) -> Form {
    Form { sql, ladder, reading: Reading::Asked, hashes: true }
}

impl Form {
    const fn without_hash(self) -> Self {
        Self { hashes: false, ..self }
    }

    /// Before PostgreSQL 18 the hash function is another type's, so it cannot be called.
    const fn with_hash_of_another(self) -> Self {
        Self { reading: Reading::Unhashed, ..self }
    }
}
