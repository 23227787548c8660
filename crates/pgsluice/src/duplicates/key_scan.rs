//! Reading of keys without routing their rows, for tables where the leaf makes no difference.

use std::io;

use pgsluice_core::duplicates::{Entry, KeyPart, NoPrint, Secret};
use pgsluice_core::parse::{Fields, Parser};

use super::Ranked;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::source::Split;

/// A reader of the keys of rows.
pub(super) struct KeyScan {
    parser: Parser,
    key: Vec<KeyPart>,
    newer: Option<KeyPart>,
    fields: Fields,
    scratch: Vec<u8>,
}

impl KeyScan {
    /// Creates a reader of the keys of `changes`. Returns `None` if the leaf of a row makes a difference.
    pub(super) fn new(plan: &Plan, changes: &Changes) -> Option<Self> {
        let Changes { key, newer, through_root, .. } = changes;
        if !key.is_of_root || !through_root {
            return None;
        }
        let mut fields: Vec<usize> = key.parts.iter().chain(newer).map(|part| part.slot).collect();
        fields.sort_unstable();
        fields.dedup();
        let place = |part: &KeyPart| KeyPart {
            slot: fields.partition_point(|field| *field < part.slot),
            key_type: part.key_type.clone(),
        };
        let (key, newer) = (key.parts.iter().map(place).collect(), newer.as_ref().map(place));
        let parser = Parser::new(&plan.shape.format, fields);
        Some(Self { parser, key, newer, fields: Fields::default(), scratch: Vec::new() })
    }

    /// Passes the rows of `split` whose keys are read natively to `add`, and adds the indexes of the others
    /// to `unread`. Returns the number of rows with NULL in their key, which equals no other key.
    pub(super) fn read<R: Ranked>(
        &mut self,
        split: &Split,
        changes: &Changes,
        secret: &Secret,
        unread: &mut Vec<usize>,
        mut add: impl FnMut(Entry<R>) -> io::Result<()>,
    ) -> io::Result<u64> {
        let Self { parser, key, newer, fields, scratch } = self;
        let nulls_are_distinct = !changes.key.joins_nulls;
        let mut unkeyed = 0;
        // An input record that cannot be converted into a row is not a duplicate.
        for index in (0..split.rows.len()).filter(|index| split.refusal(*index).is_none()) {
            let row = split.text(index);
            parser.parse(row, fields);
            let print = secret.print(None, key, (row, fields), nulls_are_distinct, scratch);
            let rank = R::rank(newer.as_ref(), (row, fields), scratch);
            match (print, rank) {
                (Err(NoPrint::Null), _) => unkeyed += 1,
                (Ok(print), Ok(rank)) => {
                    let number = split.first_row + index as u64;
                    add(Entry::new(print, rank, number, changes.rule))?;
                }
                _ => unread.push(index),
            }
        }
        Ok(unkeyed)
    }
}
