//! A row that is routed: its fields, and the node to which they lead.

use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Fields;
use pgsluice_core::route::{Cause, Route, Scratch};

use crate::plan::Plan;
use crate::source::{KeyText, Split};

/// A row whose routing is complete.
#[derive(Clone, Copy)]
pub(crate) struct Routed<'r> {
    /// Its index in the split.
    pub index: usize,
    /// Its bytes in the form that contains its keys, or a row of COPY text with the same keys in the server's
    /// spelling.
    pub row: &'r [u8],
    /// The keys in `row`.
    pub keys: &'r Fields,
    /// The fields of the row in the split, in the spelling of the input.
    pub fields: &'r Fields,
    /// The leaf, or the node where routing stopped and the reason.
    pub at: Result<NodeId, (NodeId, Cause)>,
    /// Whether the server was asked about it.
    pub asked: bool,
    /// Whether the server refuses to read one of its values, or it cannot be converted into a row.
    pub refused: bool,
    /// Whether it has no keys by which it could be routed.
    pub has_no_keys: bool,
    /// The index of the first row of the split that waits for the server, or may wait again.
    pub waiting: Option<usize>,
}

impl Routed<'_> {
    /// Returns the node whose bucket takes the row.
    pub(crate) fn node(&self) -> NodeId {
        self.at.unwrap_or_else(|(node, _)| node)
    }
}

/// A reader of the keys of one row after the other.
#[derive(Default)]
pub(crate) struct KeyReader {
    pub(super) fields: Fields,
    pub(super) scratch: Scratch,
}

impl KeyReader {
    /// Reads the keys of a text row.
    #[inline]
    pub(super) fn read(&mut self, plan: &Plan, row: &[u8]) {
        plan.parser.parse(row, &mut self.fields);
    }

    /// Reads the keys of a row, and routes it down to the first node whose key is not native.
    #[inline]
    pub(super) fn route(&mut self, plan: &Plan, split: &Split, index: usize) -> Route {
        let row = match split.binary(index) {
            Some(row) => {
                self.fields.read_binary(row, plan.router.wanted_fields());
                row
            }
            None => {
                let row = split.text(index);
                self.read(plan, row);
                row
            }
        };
        match split.no_keys_cause(index) {
            Some(cause) => plan.route_without_keys(cause),
            None => plan.router.route(row, &self.fields, &mut self.scratch),
        }
    }

    /// Routes a row again, by its keys as text.
    pub(super) fn route_text(&mut self, plan: &Plan, row: &[u8]) -> Route {
        self.read(plan, row);
        plan.router.route(row, &self.fields, &mut self.scratch)
    }

    /// Routes a row without the server. Routing stops at the first key that is not native.
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
        let cause = split.no_keys_cause(index);
        Routed {
            index,
            row: split.keyed_row(index),
            keys: &self.fields,
            fields: &self.fields,
            at,
            asked: false,
            refused: cause == Some(Cause::Malformed),
            has_no_keys: cause.is_some(),
            waiting: None,
        }
    }
}

/// The rows of a split as text, or only their keys if the rows are binary.
pub(crate) struct Texts<'s> {
    plan: &'s Plan,
    split: &'s Split,
    /// A writer for binary keys, created for the first row that needs it.
    keys: Option<KeyText<'s>>,
}

impl<'s> Texts<'s> {
    pub(crate) fn new(plan: &'s Plan, split: &'s Split) -> Self {
        Self { plan, split, keys: None }
    }

    /// Returns the row with the index `index`, or `None` if one of its keys has no text form.
    pub(crate) fn get(&mut self, index: usize) -> Option<&[u8]> {
        let Self { plan, split, keys } = self;
        if split.binary(index).is_none() {
            return Some(split.text(index));
        }
        if keys.is_none() {
            *keys = plan.shape.key_text(split);
        }
        keys.as_mut()?.get_row(index)
    }
}
