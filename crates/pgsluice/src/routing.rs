//! Parse and route, for one thread: a split's rows to their leaves, or as far as they get.
//!
//! Rows that stop where the server must evaluate a key are asked about together, once the rest of
//! the split is routed, and go on from there.

use std::collections::BTreeMap;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Keys;
use pgsluice_core::route::{Cause, Route, Scratch};

use crate::ask::{Asker, Place};
use crate::control::Control;
use crate::error::Result;
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::source::Split;

/// What one thread needs for routing; reused from split to split.
pub(crate) struct Routing<'a> {
    plan: &'a Plan,
    control: &'a Control,
    target: &'a Target,
    keys: Keys,
    scratch: Scratch,
    asked: Vec<Asked>,
    /// Rows by the node where the server has answered about them.
    answered: Vec<u64>,
    /// Opened when the first row needs it.
    asker: Option<Asker<'a>>,
}

/// A row that the server is asked about.
#[derive(Clone, Copy)]
struct Asked {
    row: usize,
    node: NodeId,
    place: Option<Place>,
}

/// A row that is as far as it gets.
pub(crate) struct Reached<'r> {
    /// Its place in the split.
    pub index: usize,
    /// Its bytes.
    pub row: &'r [u8],
    /// Its keys.
    pub keys: &'r Keys,
    /// Where it is: at a leaf, or at a node that it does not get beyond.
    pub at: Result<NodeId, (NodeId, Cause)>,
    /// Whether the server was asked about it.
    pub asked: bool,
}

impl<'a> Routing<'a> {
    /// Routing by `plan`; the server that is asked is `target`.
    pub(crate) fn new(plan: &'a Plan, control: &'a Control, target: &'a Target) -> Self {
        let (keys, scratch) = (Keys::default(), Scratch::default());
        let (asked, answered) = (Vec::new(), vec![0; plan.tree.nodes.len()]);
        Self { plan, control, target, keys, scratch, asked, answered, asker: None }
    }

    /// The rows that the server has been asked about at each node, with an answer.
    pub(crate) fn answered(&self) -> BTreeMap<NodeId, u64> {
        let answered = self.answered.iter().copied().enumerate();
        answered.filter(|(_, rows)| *rows > 0).collect()
    }

    /// Routes the rows of `split`, and hands over each when it is as far as it gets. Rows that the
    /// server was asked about come after the others.
    pub(crate) fn route(
        &mut self,
        split: &Split,
        mut reached: impl FnMut(Reached<'_>),
    ) -> Result<()> {
        let Plan { parser, router, .. } = self.plan;
        if let Some(asker) = &mut self.asker {
            asker.begin();
        }
        for (index, row) in split.rows.iter().enumerate() {
            let row = row.of(&split.bytes);
            parser.parse(row, &mut self.keys);
            let route = router.route(row, &self.keys, &mut self.scratch);
            self.reach(index, row, route, false, &mut reached)?;
        }
        // One round for each level at which rows must be asked about.
        while !self.asked.is_empty() {
            self.ask(split, &mut reached)?;
        }
        Ok(())
    }

    fn reach(
        &mut self,
        index: usize,
        row: &[u8],
        route: Route,
        asked: bool,
        reached: &mut impl FnMut(Reached<'_>),
    ) -> Result<()> {
        let at = match route {
            Route::Leaf(leaf) => Ok(leaf),
            Route::Node(node, cause) => Err((node, cause)),
            Route::Ask(node) => {
                let asker = match &mut self.asker {
                    Some(asker) => asker,
                    none => none.insert(Asker::open(self.plan, self.control, self.target)?),
                };
                let place = asker.note(node, row, &self.keys);
                self.asked.push(Asked { row: index, node, place });
                return Ok(());
            }
        };
        reached(Reached { index, row, keys: &self.keys, at, asked });
        Ok(())
    }

    fn ask(&mut self, split: &Split, reached: &mut impl FnMut(Reached<'_>)) -> Result<()> {
        let Plan { parser, router, .. } = self.plan;
        self.asker.as_mut().map_or(Ok(()), Asker::ask)?;
        let rows = self.asked.len();
        for index in 0..rows {
            let Asked { row: index, node, place } = self.asked[index];
            let row = split.rows[index].of(&split.bytes);
            parser.parse(row, &mut self.keys);
            let answers =
                self.asker.as_ref().zip(place).and_then(|(asker, place)| asker.answer(place));
            let route = match answers {
                Some(answers) => {
                    self.answered[node] += 1;
                    router.resume(node, answers, row, &self.keys, &mut self.scratch)
                }
                None => Route::Node(node, Cause::Unanswered),
            };
            self.reach(index, row, route, true, reached)?;
        }
        self.asked.drain(..rows);
        Ok(())
    }
}
