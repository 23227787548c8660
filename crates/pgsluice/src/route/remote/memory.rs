//! The server's answers to one question, by key, and the keys that have no answer yet.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use futures_util::future::{join_all, join3};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use pgsluice_core::parse::Value;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Row, Statement};

use crate::error::kind::Kind;
use crate::error::sqlstate;
use crate::error::{Error, Result};
use crate::pg::connect::Link;
use crate::pg::question::Question;
use crate::pg::raw::Text;
use crate::pg::sql;

/// Number of keys of one question that are remembered before the memory is cleared.
const REMEMBERED: usize = 1 << 16;
/// Number of bytes of these keys before the memory is cleared.
const REMEMBERED_BYTES: usize = 16 << 20;
/// Number of parts in which a batch is asked again after the server refuses it.
const PIECES: usize = 16;

/// A remembered key: its index, and the number of times that the memory had been cleared before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryKey {
    era: usize,
    place: usize,
}

/// The answers to one question, by key. A key consists of its fields one after the other, with their lengths.
pub(super) struct Memory<'a, A> {
    question: &'a Question,
    statement: Option<Statement>,
    /// Whether it is asked under [`sql::EXACT_OUTPUT`].
    is_spelling: bool,
    /// The question's fields, as indexes into the fields that the parser finds.
    slots: Vec<usize>,
    /// The indexes of keys, by the hashes of the keys.
    places: HashTable<usize>,
    hasher: RandomState,
    /// The bytes of all keys, one after the other, and the end of each.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// The number of times that it was cleared. Keys that were added before have no answer any more.
    era: usize,
    /// The answers, as many for each key as the question has values.
    answers: Vec<Option<A>>,
    /// The indexes of keys that the server refuses to evaluate.
    refused: HashSet<usize>,
    /// The fields of the keys that have no answer yet, as ranges of `keys`; `None` is NULL.
    texts: Vec<Option<Range<usize>>>,
}

impl<'a, A: FromSqlOwned> Memory<'a, A> {
    pub(super) fn new(question: &'a Question, wanted: &[usize]) -> Self {
        let slots = question.fields.iter().map(|field| wanted.partition_point(|slot| slot < field));
        Self {
            question,
            statement: None,
            is_spelling: false,
            slots: slots.collect(),
            places: HashTable::new(),
            hasher: RandomState::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            era: 0,
            answers: Vec::new(),
            refused: HashSet::new(),
            texts: Vec::new(),
        }
    }

    /// Creates the memory for the question about the spelling of values. The answers are read back, so they
    /// must not depend on the user's output settings. Keys are evaluated as COPY evaluates them.
    pub(super) fn for_spellings(question: &'a Question, wanted: &[usize]) -> Self {
        Self { is_spelling: true, ..Self::new(question, wanted) }
    }

    /// Returns the question's fields, as indexes into the fields that the parser finds.
    pub(super) fn slots(&self) -> &[usize] {
        &self.slots
    }

    pub(super) fn begin(&mut self) {
        if self.ends.len() > REMEMBERED || self.keys.len() > REMEMBERED_BYTES {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.era += 1;
        self.places.clear();
        self.keys.clear();
        self.ends.clear();
        self.answers.clear();
        self.refused.clear();
    }

    /// Returns the index of a key, and adds it to the next question if it is new. `value` returns a field by
    /// its index in the question and among the wanted fields.
    pub(super) fn note<'r>(&mut self, value: impl FnMut(usize, usize) -> Value<'r>) -> MemoryKey {
        let (begin, texts) = self.push(value);
        self.settle(begin, texts)
    }

    /// Works like [`Self::note`], but returns `None` if all values are NULL.
    pub(super) fn note_any<'r>(
        &mut self,
        value: impl FnMut(usize, usize) -> Value<'r>,
    ) -> Option<MemoryKey> {
        let (begin, texts) = self.push(value);
        if self.texts[texts..].iter().all(Option::is_none) {
            self.keys.truncate(begin);
            self.texts.truncate(texts);
            return None;
        }
        Some(self.settle(begin, texts))
    }

    /// Adds the fields of a key. Returns its start in `keys` and in `texts`.
    fn push<'r>(&mut self, mut value: impl FnMut(usize, usize) -> Value<'r>) -> (usize, usize) {
        let begin = (self.keys.len(), self.texts.len());
        for (index, &slot) in self.slots.iter().enumerate() {
            let text = match value(index, slot) {
                Value::Text(text) => {
                    self.keys.extend((text.len() + 1).to_ne_bytes());
                    self.keys.extend(text);
                    Some(self.keys.len() - text.len()..self.keys.len())
                }
                // The server is asked with text.
                Value::Null | Value::Missing | Value::Binary(_) => {
                    self.keys.extend(0_usize.to_ne_bytes());
                    None
                }
            };
            self.texts.push(text);
        }
        begin
    }

    /// Returns the index of the key that was added last, and removes the copy if the key is known.
    fn settle(&mut self, begin: usize, texts: usize) -> MemoryKey {
        let Self { keys, ends, hasher, .. } = self;
        let key = |place: usize| {
            let begin = place.checked_sub(1).map_or(0, |before| ends[before]);
            &keys[begin..ends[place]]
        };
        let new = &keys[begin..];
        let equal = |place: &usize| key(*place) == new;
        let rehash = |place: &usize| hasher.hash_one(key(*place));
        let place = match self.places.entry(hasher.hash_one(new), equal, rehash) {
            Entry::Occupied(known) => {
                let place = *known.get();
                self.keys.truncate(begin);
                self.texts.truncate(texts);
                place
            }
            Entry::Vacant(free) => {
                let place = self.ends.len();
                free.insert(place);
                self.ends.push(self.keys.len());
                place
            }
        };
        MemoryKey { era: self.era, place }
    }

    pub(super) fn answer(&self, key: MemoryKey) -> Option<&[Option<A>]> {
        let width = self.question.width;
        let is_known = key.era == self.era && !self.refused.contains(&key.place);
        self.answers.get(key.place * width..(key.place + 1) * width).filter(|_| is_known)
    }

    /// Asks the server about the new keys. If it refuses a batch, asks again about parts of the batch, down
    /// to the single keys that it refuses. The destination of a row must not depend on the rest of its batch,
    /// or another run would send it elsewhere.
    ///
    /// If `gives_up`, the server is not asked about the single keys of a batch after it has refused every
    /// part of it. Then the first key that it refuses is returned, with its error.
    pub(super) async fn ask(
        &mut self,
        link: &Link,
        gives_up: bool,
    ) -> Result<Option<(MemoryKey, Error)>> {
        if self.texts.is_empty() {
            return Ok(None);
        }
        let known = self.answers.len() / self.question.width;
        self.answers.resize_with(self.ends.len() * self.question.width, || None);
        match self.prepare(link).await {
            Ok(statement) => {
                let hopeless = self.ask_all(link, &statement, known, gives_up).await?;
                self.texts.clear();
                Ok(hopeless.map(|(place, error)| (MemoryKey { era: self.era, place }, error)))
            }
            // The server accepted it when the load was planned.
            Err(error) => Err(unasked(error)),
        }
    }

    /// Asks the server about the keys from `known` on, in few statements. If it refuses too many of them,
    /// returns the first refused key.
    async fn ask_all(
        &mut self,
        link: &Link,
        statement: &Statement,
        known: usize,
        gives_up: bool,
    ) -> Result<Option<(usize, Error)>> {
        let all = known..self.ends.len();
        let mut batches = Vec::from([all]);
        let mut has_given_up = false;
        while !batches.is_empty() {
            let queries = batches.iter().map(|keys| self.query(link, statement, known, keys));
            let outcomes = join_all(queries).await;
            let is_refused = |outcome: &Result<_, _>| outcome.as_ref().is_err_and(is_refusal);
            has_given_up |= gives_up && outcomes.len() >= PIECES && outcomes.iter().all(is_refused);
            let mut pieces = Vec::new();
            for (keys, outcome) in batches.into_iter().zip(outcomes) {
                match outcome {
                    Ok(row) => self.learn(&keys, &row)?,
                    Err(error) if !is_refusal(&error) => return Err(unasked(error)),
                    Err(_) if has_given_up && !pieces.is_empty() => {}
                    Err(error) if has_given_up && keys.len() == 1 => {
                        return Ok(Some((keys.start, Error::from(error).with_kind(Kind::Data))));
                    }
                    Err(_) if keys.len() == 1 => _ = self.refused.insert(keys.start),
                    Err(_) => {
                        let piece = keys.len().div_ceil(PIECES);
                        let begins = keys.clone().step_by(piece);
                        pieces.extend(begins.map(|begin| begin..keys.end.min(begin + piece)));
                    }
                }
            }
            batches = pieces;
        }
        Ok(None)
    }

    async fn prepare(&mut self, link: &Link) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = &self.statement {
            return Ok(statement.clone());
        }
        let statement = link.client.prepare(&self.question.sql).await?;
        Ok(self.statement.insert(statement).clone())
    }

    /// Asks about the keys with the indexes `keys`. `known` is the first key without an answer.
    async fn query(
        &self,
        link: &Link,
        statement: &Statement,
        known: usize,
        keys: &Range<usize>,
    ) -> Result<Row, tokio_postgres::Error> {
        let text = |range: &Option<Range<usize>>| {
            range.as_ref().map(|range| Text(&self.keys[range.clone()]))
        };
        let slots = self.slots.len();
        let texts = &self.texts[(keys.start - known) * slots..(keys.end - known) * slots];
        let column = |field: usize| -> Vec<Option<Text<'_>>> {
            texts.iter().skip(field).step_by(slots).map(text).collect()
        };
        let columns: Vec<Vec<Option<Text<'_>>>> = (0..slots).map(column).collect();
        let fields = columns.iter().map(|column| column as &(dyn ToSql + Sync));
        let bounds = self.question.bounds.iter().map(|bounds| bounds as &(dyn ToSql + Sync));
        let parameters: Vec<_> = fields.chain(bounds).collect();
        let asking = link.client.query_one(statement, &parameters);
        if !self.is_spelling {
            return asking.await;
        }
        // The statements are sent in this order, with nothing between them.
        let (set, row, reset) = join3(
            link.client.batch_execute(sql::EXACT_OUTPUT),
            asking,
            link.client.batch_execute(sql::RESET_OUTPUT),
        )
        .await;
        set.and(reset).and(row)
    }

    /// Remembers the server's answers about `keys`.
    fn learn(&mut self, keys: &Range<usize>, row: &Row) -> Result<(), tokio_postgres::Error> {
        let width = self.question.width;
        let places: Vec<i64> = row.try_get(0)?;
        for index in 0..width {
            let answers: Vec<Option<A>> = row.try_get(index + 1)?;
            for (place, answer) in places.iter().zip(answers) {
                self.answers[(keys.start + *place as usize - 1) * width + index] = answer;
            }
        }
        Ok(())
    }
}

/// Whether an error is about the keys in the question, and ends only the statement.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        let severity = error.parsed_severity();
        let is_fatal = matches!(severity, Some(Severity::Fatal | Severity::Panic));
        let code = error.code().code();
        !is_fatal && sqlstate::blames_row(code) && !sqlstate::is_about_names(code)
    })
}

/// Returns the error for a question that the server refuses for any key. If its rows went to the slow lane
/// instead, another run with an answer would look for them elsewhere.
fn unasked(error: tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(refusal) if sqlstate::is_about_names(refusal.code().code()) => Error::from(refusal)
            .with_detail(
                "The server no longer evaluates keys that it could evaluate when the load began.",
            )
            .only_hint(
                "Restore the privileges and objects that were changed meanwhile, and run the same \
                 command again.",
            ),
        _ => error.into(),
    }
}
