//! One row on its way: its fields, and the node that they lead to.

use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Fields;
use pgsluice_core::route::{Cause, Route, Scratch};

use crate::plan::Plan;
use crate::source::{KeyText, Split};

/// A row that is as far as it gets.
#[derive(Clone, Copy)]
pub(crate) struct Routed<'r> {
    /// Its place in the split.
    pub index: usize,
    /// Its bytes in the form that has its keys, or a row of COPY text with the same keys as the server
    /// spells them.
    pub row: &'r [u8],
    /// The keys in `row`.
    pub keys: &'r Fields,
    /// The fields of the row in the split, in the spelling of the input.
    pub fields: &'r Fields,
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

impl Routed<'_> {
    /// Returns the node whose bucket takes the row.
    pub(crate) fn node(&self) -> NodeId {
        self.at.unwrap_or_else(|(node, _)| node)
    }
}

/// Reads the keys of one row after the other; reused from row to row.
#[derive(Default)]
pub(crate) struct KeyReader {
    pub(super) fields: Fields,
    pub(super) scratch: Scratch,
}

impl KeyReader {
    /// Reads the keys of a row that is text.
    #[inline]
    pub(super) fn read(&mut self, plan: &Plan, row: &[u8]) {
        plan.parser.parse(row, &mut self.fields);
    }

    /// Reads the keys of a row, and routes it down to the first node whose key is not native.
    #[inline]
    pub(super) fn route(&mut self, plan: &Plan, split: &Split, index: usize) -> Route {
        let row = match split.binary(index) {
            Some(row) => {
                self.fields.read_binary(row, plan.router.wanted());
                row
            }
            None => {
                let row = split.text(index);
                self.read(plan, row);
                row
            }
        };
        match split.keyless(index) {
            Some(cause) => plan.keyless(cause),
            None => plan.router.route(row, &self.fields, &mut self.scratch),
        }
    }

    /// Routes a row once more, by its keys as text.
    pub(super) fn route_text(&mut self, plan: &Plan, row: &[u8]) -> Route {
        self.read(plan, row);
        plan.router.route(row, &self.fields, &mut self.scratch)
    }

    /// Routes a row without asking the server: it stops where its keys are not native.
    #[inline]
    pub(crate) fn route_natively<'r>(
        &'r mut self,
        plan: &Plan,
        split: &'r Split,
        index: usize,
    ) -> Routed<'r> {
        let at = match self.route(plan, split, index) {
            Route::Leaf(leaf) => Ok(leaf),
            Route::Node(node, cause) => Err((node, cause)),
            Route::Ask(node) => Err((node, Cause::Unanswered)),
        };
        let keyless = split.keyless(index);
        Routed {
            index,
            row: split.keyed(index),
            keys: &self.fields,
            fields: &self.fields,
            at,
            asked: false,
            refused: keyless == Some(Cause::Malformed),
            is_keyless: keyless.is_some(),
            waiting: None,
        }
    }
}

/// The rows of a split as text, or their keys where nothing else is.
pub(crate) struct Texts<'s> {
    plan: &'s Plan,
    split: &'s Split,
    /// Writes keys that are in binary; made when the first row needs it.
    keys: Option<KeyText<'s>>,
}

impl<'s> Texts<'s> {
    pub(crate) fn new(plan: &'s Plan, split: &'s Split) -> Self {
        Self { plan, split, keys: None }
    }

    /// Returns the row at the place `index`; `None` if a key of it has no text.
    pub(crate) fn of(&mut self, index: usize) -> Option<&[u8]> {
        let Self { plan, split, keys } = self;
        if split.binary(index).is_none() {
            return Some(split.text(index));
        }
        if keys.is_none() {
            *keys = plan.shape.key_text(split);
        }
        keys.as_mut()?.of_row(index)
    }
}
