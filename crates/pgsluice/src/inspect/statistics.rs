//! The partitions that the rows of Parquet files may go to, according to the files' statistics.

use pgsluice_core::catalog::{Bound, Edge, KeyColumn, ROOT, Strategy, label};
use pgsluice_core::types::{KeyType, OwnedDatum};

use crate::job::Job;
use crate::plan::Plan;

/// Maximum number of inputs whose statistics are read.
const MAX_INPUTS: usize = 1000;

/// The least and the greatest value of a column, and their spellings.
struct KeySpan {
    ends: [OwnedDatum; 2],
    texts: [String; 2],
}

/// Describes the range of the first partition key column in the statistics of the inputs, and the number of
/// partitions that rows may go to. Returns `None` if there are no statistics, or the table is partitioned by
/// hash.
pub fn note(job: &Job, plan: &Plan) -> Option<String> {
    let root = &plan.tree.nodes[ROOT];
    let key = root.key.as_ref().filter(|key| key.strategy != Strategy::Hash)?;
    let Some(KeyColumn::Native { column, field: Some(field), ty }) = key.columns.first() else {
        return None;
    };
    let KeySpan { ends: [min, max], texts: [from, to] } = span(job, plan, *field, ty)?;
    let may_overlap = |bound: &Bound| match bound {
        Bound::List(values) => values.iter().flatten().any(|value| (&min..=&max).contains(&value)),
        Bound::Range { lower, upper } => {
            let begins = match lower.first() {
                Some(Edge::Datum(lower)) => *lower <= max,
                edge => edge != Some(&Edge::MaxValue),
            };
            let ends = match upper.first() {
                // If the key has several columns, rows with the upper value in the first column may belong to
                // the partition.
                Some(Edge::Datum(upper)) => *upper > min || key.columns.len() > 1 && *upper == min,
                edge => edge != Some(&Edge::MinValue),
            };
            begins && ends
        }
        Bound::Default | Bound::Hash { .. } | Bound::Opaque => true,
    };
    let bounds = root.children.iter().filter_map(|child| plan.tree.nodes[*child].bound.as_ref());
    let overlapping = bounds.filter(|bound| may_overlap(bound)).count();
    let (column, table, all) = (label(column), root.relation.label(), root.children.len());
    Some(format!(
        "{column} ranges from {from} to {to} according to the file statistics: rows may go to \
         {overlapping} of {all} partitions of {table}"
    ))
}

fn span(job: &Job, plan: &Plan, field: usize, ty: &KeyType) -> Option<KeySpan> {
    let inputs = &job.input.files;
    if inputs.len() > MAX_INPUTS {
        return None;
    }
    let (mut found, mut scratch): (Option<KeySpan>, _) = (None, Vec::new());
    for input in inputs.iter() {
        for text in plan.shape.extremes(input, field)? {
            let datum = OwnedDatum::from(ty.parse(&text, &mut scratch)?);
            let text = String::from_utf8(text).ok()?;
            let Some(KeySpan { ends: [min, max], texts: [from, to] }) = &mut found else {
                let (ends, texts) = ([datum.clone(), datum], [text.clone(), text]);
                found = Some(KeySpan { ends, texts });
                continue;
            };
            if datum < *min {
                (*min, *from) = (datum, text);
            } else if datum > *max {
                (*max, *to) = (datum, text);
            }
        }
    }
    found
}
