//! Evaluation of keys by the server: a batch of rows at a time, on a separate connection.
//!
//! There is one query for each question of a batch, and all of them are sent at once. Keys that were
//! evaluated before are remembered, so a key with few distinct values costs next to nothing.

mod memory;

use futures_util::future::{try_join, try_join_all};
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::{Fields, Value};
use pgsluice_core::route::Answers;
use pgsluice_core::types::KeyType;
use tokio::runtime::Runtime;

use self::memory::{Memory, MemoryKey};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::pg::sql;
use crate::pg::volatility::Volatility;
use crate::plan::Plan;

/// A connection for questions, with the answers so far.
pub(crate) struct RemoteKeys<'a> {
    plan: &'a Plan,
    control: &'a Control,
    // Declared before the runtime on which it runs, so that it is dropped first.
    link: Link,
    runtime: Runtime,
    /// The memories by question number; `None` if the question was not asked yet.
    memories: Vec<Option<Memory<'a, i64>>>,
    spellings: Option<Memory<'a, String>>,
    /// The type of each field of a spelling, if it belongs to one column, and the values that must not be
    /// asked about.
    fields: Vec<(Option<&'a KeyType>, Volatility)>,
    /// Reused for reading values.
    scratch: Vec<u8>,
}

/// A question to the server about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The evaluation of its key.
    Key(AnswerSlot),
    /// The spelling of its keys.
    Spelling(Spelled),
}

/// The position of a remembered answer. It is valid until the next split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerSlot {
    question: usize,
    key: MemoryKey,
}

/// The position of the remembered spelling of a row's keys. It is valid until the next split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spelled(MemoryKey);

impl<'a> RemoteKeys<'a> {
    /// Connects.
    pub(crate) fn open(plan: &'a Plan, control: &'a Control, target: &Target) -> Result<Self> {
        let runtime = runtime()?;
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(sql::NO_LOCK_TIMEOUT).await?;
            link.client.batch_execute(sql::ASKING_SESSION).await?;
            Ok(link)
        };
        let link = runtime.block_on(control.stop.unless_stopped(opening))?;
        let wanted = plan.router.wanted_fields();
        let questions = &plan.catalogue.questions;
        let spelling = questions.spelling.as_ref();
        let spellings = spelling.map(|spelling| Memory::for_spellings(spelling, wanted));
        let fields = spelling.map_or(&[][..], |spelling| &spelling.fields);
        let known = |&field: &usize| (plan.key_type(field), questions.volatility(field));
        let fields = fields.iter().map(known).collect();
        Ok(Self {
            plan,
            control,
            link,
            runtime,
            memories: Vec::new(),
            spellings,
            fields,
            scratch: Vec::new(),
        })
    }

    /// Clears memories that have grown too large. Positions from the previous split become invalid.
    pub(crate) fn begin(&mut self) {
        self.memories.iter_mut().flatten().for_each(Memory::begin);
        self.spellings.iter_mut().for_each(Memory::begin);
    }

    /// Adds the key of a row at `node` to the questions, and returns the position of its answer. Returns
    /// `None` if there is no question for the node.
    pub(crate) fn note(&mut self, node: NodeId, row: &[u8], keys: &Fields) -> Option<AnswerSlot> {
        let (number, question) = self.plan.catalogue.questions.get(node)?;
        if self.memories.len() <= number {
            self.memories.resize_with(number + 1, || None);
        }
        let wanted = self.plan.router.wanted_fields();
        let memory = self.memories[number].get_or_insert_with(|| Memory::new(question, wanted));
        Some(AnswerSlot { question: number, key: memory.note(|_, slot| keys.get(slot, row)) })
    }

    /// Adds the values of a row that cannot be read natively, and returns the position of the server's
    /// spelling. Values that are read natively or depend on the clock are not asked about. Returns `None` if
    /// no other values are left.
    pub(crate) fn note_spelling(&mut self, row: &[u8], keys: &Fields) -> Option<Spelled> {
        let Self { spellings, fields, scratch, .. } = self;
        let unread = |index: usize, slot: usize| match keys.get(slot, row) {
            Value::Text(text) => {
                let (ty, volatility) = fields[index];
                let is_read = ty.is_some_and(|ty| ty.parse(text, scratch).is_some());
                let is_left_out = is_read || !volatility.admits(text, scratch);
                if is_left_out { Value::Null } else { Value::Text(text) }
            }
            other => other,
        };
        spellings.as_mut()?.note_any(unread).map(Spelled)
    }

    /// Asks about all new keys. If `gives_up`, returns the first key of a batch that the server refuses in
    /// all its parts, with the error.
    pub(crate) fn ask(&mut self, gives_up: bool) -> Result<Option<(Asked, Error)>> {
        let Self { control, link, runtime, memories, spellings, .. } = self;
        let linked = &*link;
        let asking = async move {
            let memories = memories.iter_mut().enumerate();
            let memories = memories.filter_map(|(number, memory)| Some((number, memory.as_mut()?)));
            let memories = memories.map(|(question, memory)| async move {
                let refused = memory.ask(linked, gives_up).await?;
                Ok(refused.map(|(key, error)| (Asked::Key(AnswerSlot { question, key }), error)))
            });
            let spellings = spellings.iter_mut().map(|memory| async move {
                let refused = memory.ask(linked, gives_up).await?;
                Ok::<_, Error>(refused.map(|(key, error)| (Asked::Spelling(Spelled(key)), error)))
            });
            try_join(try_join_all(memories), try_join_all(spellings)).await
        };
        match runtime.block_on(link.canceller.settle(control, asking)) {
            Some(asked) => {
                let (keys, spellings) = asked?;
                Ok(keys.into_iter().chain(spellings).flatten().next())
            }
            None => Err(control.stop.failure().unwrap_or_else(Error::interrupted)),
        }
    }

    /// Returns the answer, or `None` if the server refused to evaluate the key.
    pub(crate) fn answer(&self, place: AnswerSlot) -> Option<Answers<'_>> {
        self.memories.get(place.question)?.as_ref()?.answer(place.key)
    }

    /// Returns the server's spellings of a row's keys, each with its index among the wanted fields. Returns
    /// `None` if the server refused. A value that was not asked about has no spelling.
    pub(crate) fn spelling(
        &self,
        place: Spelled,
    ) -> Option<impl Iterator<Item = (usize, Option<&str>)>> {
        let memory = self.spellings.as_ref()?;
        let texts = memory.answer(place.0)?.iter().map(Option::as_deref);
        Some(memory.slots().iter().copied().zip(texts))
    }
}
