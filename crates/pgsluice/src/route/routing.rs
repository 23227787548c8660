//! Parsing and routing in one thread: routes each row of a split to its leaf, or to the node where routing
//! stops.
//!
//! Some rows wait because the server must evaluate a key, or read a value whose spelling is not native. The
//! server is asked about all of them together after the rest of the split is routed.

use std::collections::BTreeMap;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::duplicates::KeyPart;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{self, Fields, Parser, Value};
use pgsluice_core::route::{Cause, Route};

use crate::control::Control;
use crate::error::Result;
use crate::pg::conninfo::Target;
use crate::plan::{Answered, Plan};
use crate::route::remote::{self, AnswerSlot, RemoteKeys, Spelled};
use crate::route::row::{KeyReader, Routed, Texts};
use crate::source::Split;

/// The state of routing in one thread. It is reused from split to split.
pub(crate) struct Routing<'a> {
    plan: &'a Plan,
    control: &'a Control,
    target: &'a Target,
    reader: KeyReader,
    asked: Vec<AskedRow>,
    answered: BTreeMap<Answered, u64>,
    /// A parser for keys in the server's spelling.
    respelled: Parser,
    spelled: Fields,
    /// The connection for questions, opened for the first row that needs it.
    remote: Option<RemoteKeys<'a>>,
    /// The fields other than partition keys that must have a spelling that is read natively.
    read: Vec<KeyPart>,
    scratch_read: Vec<u8>,
    gives_up: bool,
    /// The result of [`Self::hopeless`].
    hopeless: Option<usize>,
}

/// A row that the server is asked about.
#[derive(Clone, Copy)]
struct AskedRow {
    index: usize,
    /// The position of its keys in the server's spelling, if its own is not read natively.
    spelled: Option<Spelled>,
    about: About,
}

#[derive(Clone, Copy)]
enum About {
    Key(NodeId, Option<AnswerSlot>),
    Spelling(NodeId, usize),
}

/// The state of a row besides its bytes and its node; see [`Routed`].
#[derive(Clone, Copy)]
struct RowState {
    index: usize,
    /// The question that it has waited for.
    asked: Option<AskedRow>,
    /// Whether its keys are in the server's spelling.
    is_spelled: bool,
    refused: bool,
    has_no_keys: bool,
    waiting: Option<usize>,
}

impl RowState {
    /// Whether the server may still be asked about the spelling of the keys.
    fn may_be_spelled(&self) -> bool {
        self.asked.is_none_or(|asked| asked.spelled.is_none())
    }
}

impl<'a> Routing<'a> {
    /// Creates the routing of `plan`; questions go to the server `target`.
    pub(crate) fn new(plan: &'a Plan, control: &'a Control, target: &'a Target) -> Self {
        Self {
            plan,
            control,
            target,
            reader: KeyReader::default(),
            asked: Vec::new(),
            answered: BTreeMap::new(),
            respelled: Parser::new(&Format::text(), plan.router.wanted_fields().to_vec()),
            spelled: Fields::default(),
            remote: None,
            read: Vec::new(),
            scratch_read: Vec::new(),
            gives_up: false,
            hopeless: None,
        }
    }

    /// Asks the server also about the values of these fields that are not read natively.
    pub(crate) fn reading(self, fields: impl IntoIterator<Item = KeyPart>) -> Self {
        Self { read: fields.into_iter().collect(), ..self }
    }

    /// Returns the number of rows that the server has answered about, by question.
    pub(crate) fn answered(self) -> BTreeMap<Answered, u64> {
        self.answered
    }

    /// Routes all rows of `split`, and passes each to `routed`. Rows that the server is asked about come
    /// after the others.
    pub(crate) fn route_all(
        &mut self,
        split: &Split,
        mut routed: impl FnMut(Routed<'_>),
    ) -> Result<()> {
        let mut is_waiting = self.route(split, &mut routed)?;
        while is_waiting {
            self.ask()?;
            is_waiting = self.resume(split, &mut routed)?;
        }
        Ok(())
    }

    /// Routes the rows of `split` that need no question to the server, and passes each to `routed`. Returns
    /// whether other rows are waiting for [`Self::ask`].
    pub(crate) fn route(
        &mut self,
        split: &Split,
        mut routed: impl FnMut(Routed<'_>),
    ) -> Result<bool> {
        if let Some(remote) = &mut self.remote {
            remote.begin();
        }
        let mut texts = Texts::new(self.plan, split);
        for index in 0..split.rows.len() {
            let mut route = self.reader.route(self.plan, split, index);
            let mut row = split.keyed_row(index);
            if let Route::Node(_, Cause::Spelling(_)) = route
                && let Some(text) = texts.get(index).filter(|_| split.binary(index).is_some())
            {
                // The server is asked with text.
                (row, route) = (text, self.reader.route_text(self.plan, text));
            }
            let cause = split.no_keys_cause(index);
            let state = RowState {
                index,
                asked: None,
                is_spelled: false,
                refused: cause == Some(Cause::Malformed),
                has_no_keys: cause.is_some(),
                waiting: self.asked.first().map(|asked| asked.index),
            };
            self.settle(state, row, route, &mut routed)?;
        }
        Ok(!self.asked.is_empty())
    }

    /// Asks the server about the waiting rows. [`Self::resume`] continues with them.
    pub(crate) fn ask(&mut self) -> Result<()> {
        let Some(remote) = &mut self.remote else { return Ok(()) };
        let Some((about, error)) = remote.ask(self.gives_up)? else { return Ok(()) };
        let is_it = |asked: &&AskedRow| match about {
            remote::Asked::Key(place) => {
                matches!(asked.about, About::Key(_, Some(known)) if known == place)
            }
            remote::Asked::Spelling(spelled) => asked.spelled == Some(spelled),
        };
        self.hopeless = self.asked.iter().filter(is_it).map(|asked| asked.index).min();
        Err(error)
    }

    /// Returns the index of the first row in the split that the server refuses, if asking was given up.
    pub(crate) fn hopeless(&self) -> Option<usize> {
        self.hopeless
    }

    /// Makes [`Self::ask`] fail, if `gives_up`, once the server refuses all parts of a batch of keys. Without
    /// rejects the load fails anyway, and asking about each key would take long.
    pub(crate) fn giving_up(self, gives_up: bool) -> Self {
        Self { gives_up, ..self }
    }

    /// Continues with the rows of `split` that the server was asked about, and passes each whose routing is
    /// complete to `routed`. Returns whether other questions remain, which may happen on each level of the
    /// tree.
    pub(crate) fn resume(
        &mut self,
        split: &Split,
        mut routed: impl FnMut(Routed<'_>),
    ) -> Result<bool> {
        let mut text = Vec::new();
        let mut texts = Texts::new(self.plan, split);
        let rows = self.asked.len();
        for place in 0..rows {
            let asked = self.asked[place];
            let mut row = texts.get(asked.index).unwrap_or_default();
            self.reader.read(self.plan, row);
            let is_spelled = self.spell(asked, row, &mut text);
            if is_spelled {
                row = &text;
                self.respelled.parse(row, &mut self.spelled);
            }
            let route = self.continue_from(asked.about, is_spelled, row);
            // Rows that wait again come before rows that are added later.
            let waiting = self.asked.get(rows).or(self.asked[..rows].get(place + 1));
            let state = RowState {
                index: asked.index,
                asked: Some(asked),
                is_spelled,
                refused: asked.spelled.is_some() && !is_spelled,
                // The server was asked about the keys of these rows.
                has_no_keys: false,
                waiting: waiting.map(|asked| asked.index),
            };
            self.settle(state, row, route, &mut routed)?;
        }
        self.asked.drain(..rows);
        Ok(!self.asked.is_empty())
    }

    /// Passes a row to `routed`, or suspends it until the server has answered.
    fn settle(
        &mut self,
        state: RowState,
        row: &[u8],
        route: Route,
        routed: &mut impl FnMut(Routed<'_>),
    ) -> Result<()> {
        if self.suspend(state, row, route)? {
            return Ok(());
        }
        let fields = &self.reader.fields;
        let keys = if state.is_spelled { &self.spelled } else { fields };
        let stop = |node, column, cause| {
            Err((node, self.plan.clock_at(node, column, row, keys).unwrap_or(cause)))
        };
        let at = match route {
            Route::Leaf(leaf) => Ok(leaf),
            Route::Node(node, Cause::Spelling(column)) => {
                stop(node, Some(column), Cause::Spelling(column))
            }
            Route::Node(node, cause) => Err((node, cause)),
            Route::Ask(node) => stop(node, None, Cause::Unanswered),
        };
        let RowState { index, asked, refused, has_no_keys, waiting, .. } = state;
        let asked = asked.is_some();
        routed(Routed { index, row, keys, fields, at, asked, refused, has_no_keys, waiting });
        Ok(())
    }

    /// Adds a row to the questions if necessary. Returns `false` if nothing is asked.
    #[inline]
    fn suspend(&mut self, state: RowState, row: &[u8], route: Route) -> Result<bool> {
        let place = match route {
            Route::Leaf(leaf) => {
                let is_unread =
                    state.may_be_spelled() && !state.has_no_keys && self.has_unread(row);
                is_unread.then_some((leaf, Some(0)))
            }
            Route::Node(node, Cause::Spelling(column)) => {
                let can_ask = self.plan.catalogue.questions.spelling.is_some();
                (state.may_be_spelled() && can_ask).then_some((node, Some(column)))
            }
            Route::Ask(node) => Some((node, None)),
            Route::Node(..) => None,
        };
        match place {
            Some((node, column)) => self.note(state, row, node, column),
            None => Ok(false),
        }
    }

    /// Adds a row at `node` to the questions: about the spelling of its keys if that in `column` is not
    /// native, or else about its key.
    fn note(
        &mut self,
        state: RowState,
        row: &[u8],
        node: NodeId,
        column: Option<usize>,
    ) -> Result<bool> {
        let Self { plan, control, target, reader, spelled, remote, asked, .. } = self;
        let keys = if state.is_spelled { spelled } else { &reader.fields };
        if column.is_none() && plan.clock_at(node, None, row, keys).is_some() {
            return Ok(false);
        }
        let remote = open_remote(remote, plan, control, target)?;
        let (spelled, about) = match column {
            None => {
                let about = About::Key(node, remote.note(node, row, keys));
                (state.asked.and_then(|asked| asked.spelled), about)
            }
            Some(column) => {
                let Some(spelled) = remote.note_spelling(row, keys) else { return Ok(false) };
                (Some(spelled), About::Spelling(node, column))
            }
        };
        asked.push(AskedRow { index: state.index, spelled, about });
        Ok(true)
    }

    /// Whether a field has a value that is not read natively.
    fn has_unread(&mut self, row: &[u8]) -> bool {
        let Self { read, reader, scratch_read, .. } = self;
        read.iter().any(|KeyPart { slot, key_type }| match reader.fields.get(*slot, row) {
            Value::Missing | Value::Null => false,
            value => value.read(key_type, scratch_read).is_none(),
        })
    }

    /// Writes the row's keys in the server's spelling. Returns `false` if the spelling is unknown.
    fn spell(&self, asked: AskedRow, row: &[u8], text: &mut Vec<u8>) -> bool {
        let remote = self.remote.as_ref().zip(asked.spelled);
        let Some(mut spelled) = remote.and_then(|(remote, place)| remote.spelling(place)) else {
            return false;
        };
        let mut next = spelled.next();
        let values = self.plan.router.wanted_fields().iter().enumerate().map(|(slot, &field)| {
            let value = match next {
                Some((place, value)) if place == slot => {
                    next = spelled.next();
                    let own = self.reader.fields.get(slot, row);
                    value.map_or(own, |value| Value::Text(value.as_bytes()))
                }
                _ => self.reader.fields.get(slot, row),
            };
            (field, value)
        });
        parse::text_row(values, text);
        true
    }

    /// Continues routing where the question was asked.
    fn continue_from(&mut self, about: About, is_spelled: bool, row: &[u8]) -> Route {
        let Plan { router, .. } = self.plan;
        let KeyReader { fields, scratch } = &mut self.reader;
        let keys = if is_spelled { &self.spelled } else { fields };
        match about {
            About::Key(node, place) => {
                let remote = self.remote.as_ref().zip(place);
                let Some(answers) = remote.and_then(|(remote, place)| remote.answer(place)) else {
                    return Route::Node(node, Cause::Unanswered);
                };
                *self.answered.entry((node, None)).or_default() += 1;
                router.resume(node, answers, row, keys, scratch)
            }
            About::Spelling(node, column) if is_spelled => {
                *self.answered.entry((node, Some(column))).or_default() += 1;
                router.route(row, keys, scratch)
            }
            About::Spelling(node, column) => Route::Node(node, Cause::Spelling(column)),
        }
    }
}

fn open_remote<'s, 'a>(
    remote: &'s mut Option<RemoteKeys<'a>>,
    plan: &'a Plan,
    control: &'a Control,
    target: &Target,
) -> Result<&'s mut RemoteKeys<'a>> {
    match remote {
        Some(remote) => Ok(remote),
        none => Ok(none.insert(RemoteKeys::open(plan, control, target)?)),
    }
}
