//! Ask: the server evaluates the keys of a batch of rows, on a connection of its own.
//!
//! One query for each question that a batch has, all of them under way at once. Keys that were
//! asked about before are remembered, so that a key of few values costs next to nothing.

use std::collections::HashMap;
use std::ops::Range;

use futures_util::future::try_join_all;
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::{Keys, Value};
use pgsluice_core::route::Answers;
use tokio::runtime::Runtime;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::question::Question;
use crate::pg::raw::Text;
use crate::pg::sql;
use crate::plan::Plan;
use crate::runtime::runtime;

/// Keys of one question that are remembered; beyond that it begins anew.
const REMEMBERED: usize = 1 << 16;
/// Bytes that these keys may have.
const REMEMBERED_BYTES: usize = 16 << 20;

/// One connection that answers, with what it has answered.
pub(crate) struct Asker<'a> {
    plan: &'a Plan,
    control: &'a Control,
    // Before the runtime, on which it runs.
    link: Link,
    runtime: Runtime,
    /// By the question's number.
    memories: HashMap<usize, Memory<'a>>,
}

/// Where an answer is remembered, until the next batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    question: usize,
    key: usize,
}

impl<'a> Asker<'a> {
    /// Connects.
    pub(crate) fn open(plan: &'a Plan, control: &'a Control, target: &Target) -> Result<Self> {
        let runtime = runtime()?;
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(sql::LOADING_SESSION).await?;
            link.client.batch_execute(sql::ASKING_SESSION).await?;
            Ok(link)
        };
        let link = runtime.block_on(control.unless_stopped(opening))?;
        Ok(Self { plan, control, link, runtime, memories: HashMap::new() })
    }

    /// Forgets what has grown too large. The places of the batch before are void.
    pub(crate) fn begin(&mut self) {
        self.memories.values_mut().filter(|memory| memory.is_full()).for_each(Memory::clear);
    }

    /// Notes a row that is at `node`; where its answer will be. None if nothing can be asked.
    pub(crate) fn note(&mut self, node: NodeId, row: &[u8], keys: &Keys) -> Option<Place> {
        let (number, question) = self.plan.catalogue.questions.of(node)?;
        let wanted = self.plan.router.wanted();
        let memory = self.memories.entry(number).or_insert_with(|| Memory::of(question, wanted));
        Some(Place { question: number, key: memory.note(row, keys) })
    }

    /// Asks about all keys that were noted and are not known yet.
    pub(crate) fn ask(&mut self) -> Result<()> {
        let Self { control, link, runtime, memories, .. } = self;
        let new = memories.values_mut().filter(|memory| !memory.texts.is_empty());
        let asking = try_join_all(new.map(|memory| memory.ask(link)));
        match runtime.block_on(link.canceller.settle(control, asking)) {
            Some(asked) => asked.map(|_| ()),
            None => Err(control.failure().unwrap_or_else(Error::interrupted)),
        }
    }

    /// The answer; None if the server refused to evaluate the key, or one of the same batch.
    pub(crate) fn answer(&self, place: Place) -> Option<Answers<'_>> {
        self.memories.get(&place.question)?.answer(place.key)
    }
}

/// The answers to one question.
struct Memory<'a> {
    question: &'a Question,
    statement: Option<Statement>,
    /// The question's fields among those that the parser finds.
    slots: Vec<usize>,
    /// The place of each key; a key is its fields one after the other, with their lengths.
    keys: HashMap<Box<[u8]>, usize>,
    /// As many for each key as the question has columns.
    answers: Vec<Option<i64>>,
    /// The key that is looked for; reused.
    key: Vec<u8>,
    /// All bytes of keys.
    bytes: usize,
    /// The fields of keys without an answer, in what follows; None is NULL.
    texts: Vec<Option<Range<usize>>>,
    batch: Vec<u8>,
}

impl<'a> Memory<'a> {
    fn of(question: &'a Question, wanted: &[usize]) -> Self {
        let slots = question.fields.iter().map(|field| wanted.partition_point(|slot| slot < field));
        Self {
            question,
            statement: None,
            slots: slots.collect(),
            keys: HashMap::new(),
            answers: Vec::new(),
            key: Vec::new(),
            bytes: 0,
            texts: Vec::new(),
            batch: Vec::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.keys.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.answers.clear();
        self.bytes = 0;
    }

    /// The place of the row's key, which is asked about if it is new.
    fn note(&mut self, row: &[u8], keys: &Keys) -> usize {
        self.key.clear();
        for &slot in &self.slots {
            match keys.get(slot, row) {
                Value::Text(text) => {
                    self.key.push(1);
                    self.key.extend(text.len().to_ne_bytes());
                    self.key.extend(text);
                }
                Value::Null | Value::Missing => self.key.push(0),
            }
        }
        if let Some(&place) = self.keys.get(&self.key[..]) {
            return place;
        }
        for &slot in &self.slots {
            let Value::Text(text) = keys.get(slot, row) else {
                self.texts.push(None);
                continue;
            };
            let begin = self.batch.len();
            self.batch.extend(text);
            self.texts.push(Some(begin..self.batch.len()));
        }
        let place = self.keys.len();
        self.bytes += self.key.len();
        self.keys.insert(self.key[..].into(), place);
        place
    }

    fn answer(&self, key: usize) -> Option<Answers<'_>> {
        let width = self.question.width;
        self.answers.get(key * width..(key + 1) * width)
    }

    /// If the server refuses a key of the batch, it is not known which one, and none has an answer.
    async fn ask(&mut self, link: &Link) -> Result<()> {
        let outcome = self.query(link).await;
        self.texts.clear();
        self.batch.clear();
        match outcome {
            Ok(()) => Ok(()),
            Err(error) if error.as_db_error().is_some() && !link.is_closed().await => {
                self.clear();
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn query(&mut self, link: &Link) -> Result<(), tokio_postgres::Error> {
        let statement = match &self.statement {
            Some(statement) => statement,
            None => {
                let statement = link.client.prepare(&self.question.sql).await?;
                self.statement.insert(statement)
            }
        };
        let text = |range: &Option<Range<usize>>| {
            range.as_ref().map(|range| Text(&self.batch[range.clone()]))
        };
        let column = |field: usize| -> Vec<Option<Text<'_>>> {
            self.texts.iter().skip(field).step_by(self.slots.len()).map(text).collect()
        };
        let columns: Vec<Vec<Option<Text<'_>>>> = (0..self.slots.len()).map(column).collect();
        let fields = columns.iter().map(|column| column as &(dyn ToSql + Sync));
        let bounds = self.question.bounds.iter().map(|bounds| bounds as &(dyn ToSql + Sync));
        let parameters: Vec<_> = fields.chain(bounds).collect();
        for row in link.client.query(statement, &parameters).await? {
            self.answers
                .extend((0..self.question.width).map(|index| row.get::<_, Option<i64>>(index)));
        }
        Ok(())
    }
}
