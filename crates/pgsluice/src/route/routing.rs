//! Parses and routes, for one thread: each row of a split to its leaf, or as far as it gets.
//!
//! Some rows stop where the server must evaluate a key, or read a value whose spelling is not native.
//! The server is asked about them together, once the rest of the split is routed.

use std::collections::BTreeMap;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::duplicates::KeyPart;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{self, Fields, Parser, Value};
use pgsluice_core::route::{Cause, Route, Scratch};

use crate::control::Control;
use crate::error::Result;
use crate::pg::conninfo::Target;
use crate::plan::{Answered, Plan};
use crate::route::remote::{self, Place, RemoteKeys, Spelled};
use crate::source::Split;

/// What one thread needs for routing; reused from split to split.
pub(crate) struct Routing<'a> {
    plan: &'a Plan,
    control: &'a Control,
    target: &'a Target,
    keys: Fields,
    scratch: Scratch,
    asked: Vec<Asked>,
    answered: BTreeMap<Answered, u64>,
    /// Finds the keys of a row in the server's spelling, and the row.
    respelled: Parser,
    text: Vec<u8>,
    /// Opened when the first row needs it.
    remote: Option<RemoteKeys<'a>>,
    /// See [`Reached::waiting`].
    waiting: Option<usize>,
    /// See [`Reached::refused`].
    refused: bool,
    /// See [`Reached::is_keyless`].
    is_keyless: bool,
    /// The fields that are to be in a spelling that is read natively, besides those of partition keys.
    read: Vec<KeyPart>,
    scratch_read: Vec<u8>,
    gives_up: bool,
    /// See [`Self::hopeless`].
    hopeless: Option<usize>,
}

/// A row that the server is asked about.
#[derive(Clone, Copy)]
struct Asked {
    index: usize,
    /// Where its keys are in the server's spelling, if its own is not read natively.
    spelled: Option<Spelled>,
    about: About,
}

#[derive(Clone, Copy)]
enum About {
    Key(NodeId, Option<Place>),
    Spelling(NodeId, usize),
}

/// A row that is as far as it gets.
pub(crate) struct Reached<'r> {
    /// Its place in the split.
    pub index: usize,
    /// Its bytes, or a row of COPY text with the same keys as the server spells them.
    pub row: &'r [u8],
    /// Its keys.
    pub keys: &'r Fields,
    /// Where it is: at a leaf, or at a node that it does not get beyond.
    pub at: Result<NodeId, (NodeId, Cause)>,
    /// Whether the server was asked about it.
    pub asked: bool,
    /// Whether the server refuses to read a value of it, or no row can be made of it.
    pub refused: bool,
    /// Whether it has no keys to route it by.
    pub is_keyless: bool,
    /// The first row of the split, by its place, that still waits for the server, or may again.
    pub waiting: Option<usize>,
}

impl<'a> Routing<'a> {
    /// Makes the routing by `plan`; the server that is asked is `target`.
    pub(crate) fn new(plan: &'a Plan, control: &'a Control, target: &'a Target) -> Self {
        Self {
            plan,
            control,
            target,
            keys: Fields::default(),
            scratch: Scratch::default(),
            asked: Vec::new(),
            answered: BTreeMap::new(),
            respelled: Parser::new(&Format::text(), plan.router.wanted().to_vec()),
            text: Vec::new(),
            remote: None,
            waiting: None,
            refused: false,
            is_keyless: false,
            read: Vec::new(),
            scratch_read: Vec::new(),
            gives_up: false,
            hopeless: None,
        }
    }

    /// The same; the server is asked about values of these fields that are not read natively, too.
    pub(crate) fn reading(self, fields: impl IntoIterator<Item = KeyPart>) -> Self {
        Self { read: fields.into_iter().collect(), ..self }
    }

    /// The rows that the server has answered about, by what it was asked.
    pub(crate) fn answered(self) -> BTreeMap<Answered, u64> {
        self.answered
    }

    /// Routes all rows of `split`, and hands over each when it is as far as it gets. Rows that the
    /// server was asked about come after the others.
    pub(crate) fn route_all(
        &mut self,
        split: &Split,
        mut reached: impl FnMut(Reached<'_>),
    ) -> Result<()> {
        let mut is_waiting = self.route(split, &mut reached)?;
        while is_waiting {
            self.ask()?;
            is_waiting = self.resume(split, &mut reached)?;
        }
        Ok(())
    }

    /// Routes the rows of `split` that the server need not be asked about, and hands over each. Whether
    /// there are others: then comes [`Self::ask`].
    pub(crate) fn route(
        &mut self,
        split: &Split,
        mut reached: impl FnMut(Reached<'_>),
    ) -> Result<bool> {
        let Plan { parser, router, .. } = self.plan;
        if let Some(remote) = &mut self.remote {
            remote.begin();
        }
        for index in 0..split.rows.len() {
            let row = split.text(index);
            parser.parse(row, &mut self.keys);
            let keyless = split.keyless(index);
            self.is_keyless = keyless.is_some();
            let route = match keyless {
                Some(cause) => self.plan.keyless(cause),
                None => router.route(row, &self.keys, &mut self.scratch),
            };
            self.waiting = self.asked.first().map(|asked| asked.index);
            self.refused = keyless == Some(Cause::Malformed);
            self.reach(index, row, route, None, &mut reached)?;
        }
        Ok(!self.asked.is_empty())
    }

    /// Asks the server about the rows that wait. Then comes [`Self::resume`].
    pub(crate) fn ask(&mut self) -> Result<()> {
        let Some(remote) = &mut self.remote else { return Ok(()) };
        let Some((about, error)) = remote.ask(self.gives_up)? else { return Ok(()) };
        let is_it = |asked: &&Asked| match about {
            remote::Asked::Key(place) => {
                matches!(asked.about, About::Key(_, Some(known)) if known == place)
            }
            remote::Asked::Spelling(spelled) => asked.spelled == Some(spelled),
        };
        self.hopeless = self.asked.iter().filter(is_it).map(|asked| asked.index).min();
        Err(error)
    }

    /// The first row of the split, by its place, that the server refuses, if asking was given up.
    pub(crate) fn hopeless(&self) -> Option<usize> {
        self.hopeless
    }

    /// Fails, if `gives_up`, once the server refuses all parts of a batch of keys. Without rejects the load fails anyway,
    /// and to ask about each key takes long.
    pub(crate) fn giving_up(self, gives_up: bool) -> Self {
        Self { gives_up, ..self }
    }

    /// Goes on with the rows of `split` that the server was asked about, and hands over each that is as
    /// far as it gets. Returns whether it must be asked about others, as on each level of the tree.
    pub(crate) fn resume(
        &mut self,
        split: &Split,
        mut reached: impl FnMut(Reached<'_>),
    ) -> Result<bool> {
        let mut text = std::mem::take(&mut self.text);
        // The server is asked about the keys of these.
        self.is_keyless = false;
        let rows = self.asked.len();
        for place in 0..rows {
            let asked = self.asked[place];
            let mut row = split.text(asked.index);
            self.plan.parser.parse(row, &mut self.keys);
            let is_spelled = self.spell(asked, row, &mut text);
            self.refused = asked.spelled.is_some() && !is_spelled;
            if is_spelled {
                row = &text;
                self.respelled.parse(row, &mut self.keys);
            }
            let route = self.answered_route(asked.about, is_spelled, row);
            // Rows that wait again come before those that are asked about later.
            let waiting = self.asked.get(rows).or(self.asked[..rows].get(place + 1));
            self.waiting = waiting.map(|asked| asked.index);
            self.reach(asked.index, row, route, Some(asked), &mut reached)?;
        }
        self.asked.drain(..rows);
        self.text = text;
        Ok(!self.asked.is_empty())
    }

    /// Hands a row over, or records what the server must be asked about it; `before` is what it was
    /// asked before.
    fn reach(
        &mut self,
        index: usize,
        row: &[u8],
        route: Route,
        before: Option<Asked>,
        reached: &mut impl FnMut(Reached<'_>),
    ) -> Result<()> {
        let spelled = before.and_then(|asked| asked.spelled);
        let at = match route {
            Route::Leaf(leaf) => {
                if spelled.is_none() && !self.is_keyless && self.has_unread(row) {
                    let remote = opened(&mut self.remote, self.plan, self.control, self.target)?;
                    if let Some(spelled) = remote.note_spelling(row, &self.keys) {
                        let (spelled, about) = (Some(spelled), About::Spelling(leaf, 0));
                        self.asked.push(Asked { index, spelled, about });
                        return Ok(());
                    }
                }
                Ok(leaf)
            }
            Route::Node(node, Cause::Spelling(column)) => {
                if spelled.is_none() && self.plan.catalogue.questions.spelling.is_some() {
                    let remote = opened(&mut self.remote, self.plan, self.control, self.target)?;
                    if let Some(spelled) = remote.note_spelling(row, &self.keys) {
                        let (spelled, about) = (Some(spelled), About::Spelling(node, column));
                        self.asked.push(Asked { index, spelled, about });
                        return Ok(());
                    }
                }
                let clock = self.plan.clock_at(node, Some(column), row, &self.keys);
                Err((node, clock.unwrap_or(Cause::Spelling(column))))
            }
            Route::Ask(node) => match self.plan.clock_at(node, None, row, &self.keys) {
                Some(clock) => Err((node, clock)),
                None => {
                    let remote = opened(&mut self.remote, self.plan, self.control, self.target)?;
                    let about = About::Key(node, remote.note(node, row, &self.keys));
                    self.asked.push(Asked { index, spelled, about });
                    return Ok(());
                }
            },
            Route::Node(node, cause) => Err((node, cause)),
        };
        reached(Reached {
            index,
            row,
            keys: &self.keys,
            at,
            asked: before.is_some(),
            refused: self.refused,
            is_keyless: self.is_keyless,
            waiting: self.waiting,
        });
        Ok(())
    }

    /// Whether a field has a value that is not read natively.
    fn has_unread(&mut self, row: &[u8]) -> bool {
        let Self { read, keys, scratch_read, .. } = self;
        read.iter().any(|KeyPart { slot, key_type }| match keys.get(*slot, row) {
            Value::Text(text) => key_type.parse(text, scratch_read).is_none(),
            _ => false,
        })
    }

    /// Writes the row's keys as the server spells them, if it was asked to and did.
    fn spell(&self, asked: Asked, row: &[u8], text: &mut Vec<u8>) -> bool {
        let remote = self.remote.as_ref().zip(asked.spelled);
        let Some(mut spelled) = remote.and_then(|(remote, place)| remote.spelling(place)) else {
            return false;
        };
        let mut next = spelled.next();
        let values = self.plan.router.wanted().iter().enumerate().map(|(slot, &field)| {
            let value = match next {
                Some((place, value)) if place == slot => {
                    next = spelled.next();
                    let own = self.keys.get(slot, row);
                    value.map_or(own, |value| Value::Text(value.as_bytes()))
                }
                _ => self.keys.get(slot, row),
            };
            (field, value)
        });
        parse::text_row(values, text);
        true
    }

    /// Continues from where the server was asked.
    fn answered_route(&mut self, about: About, is_spelled: bool, row: &[u8]) -> Route {
        let Plan { router, .. } = self.plan;
        match about {
            About::Key(node, place) => {
                let remote = self.remote.as_ref().zip(place);
                let Some(answers) = remote.and_then(|(remote, place)| remote.answer(place)) else {
                    return Route::Node(node, Cause::Unanswered);
                };
                *self.answered.entry((node, None)).or_default() += 1;
                router.resume(node, answers, row, &self.keys, &mut self.scratch)
            }
            About::Spelling(node, column) if is_spelled => {
                *self.answered.entry((node, Some(column))).or_default() += 1;
                router.route(row, &self.keys, &mut self.scratch)
            }
            About::Spelling(node, column) => Route::Node(node, Cause::Spelling(column)),
        }
    }
}

fn opened<'s, 'a>(
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
