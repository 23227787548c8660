//! A plan tried on a sample of the input: where the rows would go, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Keys;
use pgsluice_core::route::{Cause, Route, Scratch};

use crate::config::{Load, SAMPLE_ROWS};
use crate::error::Result;
use crate::plan::Plan;
use crate::selftest::Samples;
use crate::source::{self, Reader};

/// Where the rows of a sample would go.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// Rows looked at.
    pub rows: u64,
    /// Rows by the leaf found for them.
    pub leaves: BTreeMap<NodeId, u64>,
    /// Rows by the node that they stop at, and why.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
    /// Rows for the self-test.
    pub samples: Samples,
}

impl Preview {
    /// Routes the first [`SAMPLE_ROWS`] rows of each input. Sends nothing.
    pub fn of(config: &Load, plan: &Plan) -> Result<Self> {
        Self::read(config, plan, SAMPLE_ROWS, |_, _, _, _| Ok(()))
    }

    /// Routes the first `limit` rows of each input, and shows `stopped` those that reach no leaf.
    pub(crate) fn read(
        config: &Load,
        plan: &Plan,
        limit: usize,
        mut stopped: impl FnMut(&[u8], &Keys, NodeId, Cause) -> Result<()>,
    ) -> Result<Self> {
        let mut preview = Self::default();
        for input in source::resolve(&config.files)? {
            let columns = &plan.catalogue.columns;
            let inputs = Arc::from([input]);
            let mut reader = Reader::new(inputs, &plan.format, config.header, columns);
            preview.sample(plan, &mut reader, limit, &mut stopped)?;
        }
        Ok(preview)
    }

    fn sample(
        &mut self,
        plan: &Plan,
        reader: &mut Reader,
        limit: usize,
        stopped: &mut impl FnMut(&[u8], &Keys, NodeId, Cause) -> Result<()>,
    ) -> Result<()> {
        let mut keys = Keys::default();
        let mut scratch = Scratch::default();
        let mut left = limit;
        let mut used = None;
        while left > 0 {
            let Some(split) = reader.next(used.take())? else { break };
            for row in split.rows.iter().take(left) {
                let row = row.of(&split.bytes);
                plan.parser.parse(row, &mut keys);
                match plan.router.route(row, &keys, &mut scratch) {
                    Route::Leaf(leaf) => {
                        *self.leaves.entry(leaf).or_default() += 1;
                        self.samples.consider(plan, row, &keys, leaf);
                    }
                    Route::Node(node, cause) => {
                        *self.stops.entry((node, cause)).or_default() += 1;
                        stopped(row, &keys, node, cause)?;
                    }
                }
                self.rows += 1;
            }
            left = left.saturating_sub(split.rows.len());
            used = Some(split);
        }
        Ok(())
    }
}
