//! Which partitions the rows of Parquet files will meet, as far as their statistics say it.

use pgsluice_core::catalog::{Bound, Edge, KeyColumn, ROOT, Strategy, label};
use pgsluice_core::types::{KeyType, OwnedDatum};

use crate::job::Job;
use crate::plan::Plan;

/// Inputs whose ends are read.
const MOST_INPUTS: usize = 1000;

/// The values that a column may have: the least and the greatest, and how they are spelled.
struct KeySpan {
    ends: [OwnedDatum; 2],
    texts: [String; 2],
}

/// Says what the statistics of the inputs say of the first column of the table's partition key, and how many of its
/// partitions may be met. None if they say nothing, or the key is by hash.
pub fn note(job: &Job, plan: &Plan) -> Option<String> {
    let root = &plan.tree.nodes[ROOT];
    let key = root.key.as_ref().filter(|key| key.strategy != Strategy::Hash)?;
    let Some(KeyColumn::Native { column, field: Some(field), ty }) = key.columns.first() else {
        return None;
    };
    let KeySpan { ends: [least, greatest], texts: [from, to] } = span(job, plan, *field, ty)?;
    let may_meet = |bound: &Bound| match bound {
        Bound::List(values) => {
            values.iter().flatten().any(|value| (&least..=&greatest).contains(&value))
        }
        Bound::Range { lower, upper } => {
            let begins = match lower.first() {
                Some(Edge::Datum(lower)) => *lower <= greatest,
                edge => edge != Some(&Edge::MaxValue),
            };
            let ends = match upper.first() {
                // The upper end of several columns belongs to the partition, as far as the first one says.
                Some(Edge::Datum(upper)) => {
                    *upper > least || key.columns.len() > 1 && *upper == least
                }
                edge => edge != Some(&Edge::MinValue),
            };
            begins && ends
        }
        Bound::Default | Bound::Hash { .. } | Bound::Opaque => true,
    };
    let bounds = root.children.iter().filter_map(|child| plan.tree.nodes[*child].bound.as_ref());
    let met = bounds.filter(|bound| may_meet(bound)).count();
    let (column, table, all) = (label(column), root.relation.label(), root.children.len());
    Some(format!(
        "{column} ranges from {from} to {to} according to the file statistics: rows may go to \
         {met} of {all} partitions of {table}"
    ))
}

fn span(job: &Job, plan: &Plan, field: usize, ty: &KeyType) -> Option<KeySpan> {
    let inputs = &job.input.files;
    if inputs.len() > MOST_INPUTS {
        return None;
    }
    let (mut found, mut scratch): (Option<KeySpan>, _) = (None, Vec::new());
    for input in inputs.iter() {
        for text in plan.shape.extremes(input, field)? {
            let datum = OwnedDatum::from(ty.parse(&text, &mut scratch)?);
            let text = String::from_utf8(text).ok()?;
            let Some(KeySpan { ends: [least, greatest], texts: [from, to] }) = &mut found else {
                let (ends, texts) = ([datum.clone(), datum], [text.clone(), text]);
                found = Some(KeySpan { ends, texts });
                continue;
            };
            if datum < *least {
                (*least, *from) = (datum, text);
            } else if datum > *greatest {
                (*greatest, *to) = (datum, text);
            }
        }
    }
    found
}
