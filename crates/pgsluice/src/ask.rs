//! Ask: the server evaluates the keys of a batch of rows, on a connection of its own.
//!
//! One query for each question that a batch has, all of them under way at once. Keys that were
//! asked about before are remembered, so that a key of few values costs next to nothing.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use futures_util::future::{join_all, try_join, try_join_all};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::{Fields, Value};
use pgsluice_core::route::Answers;
use pgsluice_core::types::KeyType;
use tokio::runtime::Runtime;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Row, Statement};

use crate::control::Control;
use crate::error::{Error, Result};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::question::Question;
use crate::pg::raw::Text;
use crate::pg::sql;
use crate::pg::sqlstate;
use crate::plan::Plan;
use crate::runtime::runtime;

/// Keys of one question that are remembered; beyond that it begins anew.
const REMEMBERED: usize = 1 << 16;
/// Bytes that these keys may have.
const REMEMBERED_BYTES: usize = 16 << 20;
/// Where the server refuses a batch, it is asked about so many pieces of it at once.
const PIECES: usize = 16;

/// One connection that answers, with what it has answered.
pub(crate) struct Asker<'a> {
    plan: &'a Plan,
    control: &'a Control,
    // Before the runtime, on which it runs.
    link: Link,
    runtime: Runtime,
    /// By the question's number; None where nothing was asked yet.
    memories: Vec<Option<Memory<'a, i64>>>,
    spellings: Option<Memory<'a, String>>,
    /// The type of each field of a spelling, where it is one column's alone.
    types: Vec<Option<&'a KeyType>>,
    /// For values that are read.
    scratch: Vec<u8>,
}

/// Where an answer is remembered, until the next split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    question: usize,
    key: Key,
}

/// Where the server's spelling of a row's keys is remembered, until the next split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelled(Key);

/// A remembered key: its place, and how often the memory had been cleared before.
#[derive(Clone, Copy, Debug)]
struct Key {
    era: usize,
    place: usize,
}

impl<'a> Asker<'a> {
    /// Connects.
    pub(crate) fn open(plan: &'a Plan, control: &'a Control, target: &Target) -> Result<Self> {
        let runtime = runtime()?;
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(sql::PATIENT).await?;
            link.client.batch_execute(sql::ASKING_SESSION).await?;
            Ok(link)
        };
        let link = runtime.block_on(control.unless_stopped(opening))?;
        let wanted = plan.router.wanted();
        let spelling = plan.catalogue.questions.spelling.as_ref();
        let spellings = spelling.map(|spelling| Memory::of(spelling, wanted));
        let fields = spelling.map_or(&[][..], |spelling| &spelling.fields);
        let types = fields.iter().map(|&field| plan.tree.key_type(field)).collect();
        Ok(Self {
            plan,
            control,
            link,
            runtime,
            memories: Vec::new(),
            spellings,
            types,
            scratch: Vec::new(),
        })
    }

    /// Forgets what has grown too large. The places of the split before are void.
    pub(crate) fn begin(&mut self) {
        self.memories.iter_mut().flatten().for_each(Memory::begin);
        self.spellings.iter_mut().for_each(Memory::begin);
    }

    /// Notes a row that is at `node`; where its answer will be. None if nothing can be asked.
    pub(crate) fn note(&mut self, node: NodeId, row: &[u8], keys: &Fields) -> Option<Place> {
        let (number, question) = self.plan.catalogue.questions.of(node)?;
        if self.memories.len() <= number {
            self.memories.resize_with(number + 1, || None);
        }
        let wanted = self.plan.router.wanted();
        let memory = self.memories[number].get_or_insert_with(|| Memory::of(question, wanted));
        Some(Place { question: number, key: memory.note(|_, slot| keys.get(slot, row)) })
    }

    /// Notes a row with a value whose spelling is not read natively; where the server's will be. Values
    /// that are read natively are not asked about.
    pub(crate) fn note_spelling(&mut self, row: &[u8], keys: &Fields) -> Option<Spelled> {
        let Self { spellings, types, scratch, .. } = self;
        let unread = |index: usize, slot: usize| match keys.get(slot, row) {
            Value::Text(text) => match types[index].and_then(|ty| ty.parse(text, scratch)) {
                Some(_) => Value::Null,
                None => Value::Text(text),
            },
            other => other,
        };
        spellings.as_mut().map(|memory| Spelled(memory.note(unread)))
    }

    /// Asks about all keys that were noted and are not known yet.
    pub(crate) fn ask(&mut self) -> Result<()> {
        let Self { control, link, runtime, memories, spellings, .. } = self;
        let asking = async {
            let memories = memories.iter_mut().flatten().map(|memory| memory.ask(link));
            let spellings = spellings.iter_mut().map(|memory| memory.ask(link));
            try_join(try_join_all(memories), try_join_all(spellings)).await
        };
        match runtime.block_on(link.canceller.settle(control, asking)) {
            Some(asked) => asked.map(|_| ()),
            None => Err(control.failure().unwrap_or_else(Error::interrupted)),
        }
    }

    /// The answer; None if the server refused to evaluate the key.
    pub(crate) fn answer(&self, place: Place) -> Option<Answers<'_>> {
        self.memories.get(place.question)?.as_ref()?.answer(place.key)
    }

    /// The server's spellings of a row's keys, each with its place among the wanted fields; None if
    /// it refused. What was not asked about has none.
    pub(crate) fn spelling(
        &self,
        place: Spelled,
    ) -> Option<impl Iterator<Item = (usize, Option<&str>)>> {
        let memory = self.spellings.as_ref()?;
        let texts = memory.answer(place.0)?.iter().map(Option::as_deref);
        Some(memory.slots.iter().copied().zip(texts))
    }
}

/// The answers to one question, by key: its fields one after the other, with their lengths.
struct Memory<'a, A> {
    question: &'a Question,
    statement: Option<Statement>,
    /// The question's fields among those that the parser finds.
    slots: Vec<usize>,
    /// The keys' places, found by the keys' hashes.
    places: HashTable<usize>,
    hasher: RandomState,
    /// All keys behind one another, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// How often it was cleared: what was noted before has no answer any more.
    era: usize,
    /// As many for each key as an answer has values.
    answers: Vec<Option<A>>,
    /// The places of keys that the server refuses to evaluate.
    refused: HashSet<usize>,
    /// The fields of the keys that have no answer yet, as ranges of all keys; None is NULL.
    texts: Vec<Option<Range<usize>>>,
}

impl<'a, A: FromSqlOwned> Memory<'a, A> {
    fn of(question: &'a Question, wanted: &[usize]) -> Self {
        let slots = question.fields.iter().map(|field| wanted.partition_point(|slot| slot < field));
        Self {
            question,
            statement: None,
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

    fn begin(&mut self) {
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

    /// The place of a key, which will be asked about if it is new. `value` gives its fields, by their
    /// places in the question and among the wanted fields.
    fn note<'r>(&mut self, mut value: impl FnMut(usize, usize) -> Value<'r>) -> Key {
        let (begin, texts) = (self.keys.len(), self.texts.len());
        for (index, &slot) in self.slots.iter().enumerate() {
            let text = match value(index, slot) {
                Value::Text(text) => {
                    self.keys.extend((text.len() + 1).to_ne_bytes());
                    self.keys.extend(text);
                    Some(self.keys.len() - text.len()..self.keys.len())
                }
                Value::Null | Value::Missing => {
                    self.keys.extend(0_usize.to_ne_bytes());
                    None
                }
            };
            self.texts.push(text);
        }
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
        Key { era: self.era, place }
    }

    fn answer(&self, key: Key) -> Option<&[Option<A>]> {
        let width = self.question.width;
        let is_known = key.era == self.era && !self.refused.contains(&key.place);
        self.answers.get(key.place * width..(key.place + 1) * width).filter(|_| is_known)
    }

    /// If the server refuses a batch, it is asked again about pieces of it, down to the keys that it
    /// refuses: where a row goes must not depend on the rows that it is asked about with, or another
    /// run would send it elsewhere.
    async fn ask(&mut self, link: &Link) -> Result<()> {
        if self.texts.is_empty() {
            return Ok(());
        }
        let known = self.answers.len() / self.question.width;
        self.answers.resize_with(self.ends.len() * self.question.width, || None);
        match self.prepare(link).await {
            Ok(statement) => self.ask_all(link, &statement, known).await?,
            Err(error) if is_refusal(&error) => self.refused.extend(known..self.ends.len()),
            Err(error) => return Err(error.into()),
        }
        self.texts.clear();
        Ok(())
    }

    /// Asks about all keys from `known` on, in as few pieces as it takes.
    async fn ask_all(&mut self, link: &Link, statement: &Statement, known: usize) -> Result<()> {
        let all = known..self.ends.len();
        let mut batches = Vec::from([all]);
        while !batches.is_empty() {
            let queries = batches.iter().map(|keys| self.query(link, statement, known, keys));
            let outcomes = join_all(queries).await;
            let mut pieces = Vec::new();
            for (keys, outcome) in batches.into_iter().zip(outcomes) {
                match outcome {
                    Ok(row) => self.learn(&keys, &row)?,
                    Err(error) if !is_refusal(&error) => return Err(error.into()),
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
        Ok(())
    }

    async fn prepare(&mut self, link: &Link) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = &self.statement {
            return Ok(statement.clone());
        }
        let statement = link.client.prepare(&self.question.sql).await?;
        Ok(self.statement.insert(statement).clone())
    }

    /// Asks about `keys`, by their places; the first that has no answer yet is `known`.
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
        link.client.query_one(statement, &parameters).await
    }

    /// Remembers what the server has answered about `keys`.
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

/// Whether an error is about what is asked, and ends the statement only.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        let severity = error.parsed_severity();
        let is_fatal = matches!(severity, Some(Severity::Fatal | Severity::Panic));
        !is_fatal && sqlstate::blames_row(error.code().code())
    })
}
