//! Rows with fewer fields than the table has columns.

use super::Advice;
use super::case::HintCase;
use super::reading::SampleReading;
use crate::error::{Remedy, option};
use crate::inspect::guess::list;

/// Suggests `--columns` with the columns that have no default, or with the first ones.
pub(super) fn columns(case: &HintCase<'_>) -> Option<Advice> {
    let is_possible = case.how.columns.is_none() && case.has_all_columns;
    case.text().filter(|_| is_possible && case.is_about_fields())?;
    if case.how.header.is_by_name() {
        return None;
    }
    let SampleReading { rows, .. } = case.present()?;
    let count = rows.first()?.len();
    let all = 0..case.columns.len();
    let has_default = |at: &usize| case.columns[*at].nullness.has_default;
    let may_lack = |at: &usize| has_default(at) || !case.columns[*at].nullness.is_not_null;
    if count >= all.len() || rows.iter().any(|row| row.len() != count) {
        return None;
    }
    let required: Vec<usize> = all.clone().filter(|at| !has_default(at)).collect();
    let first: Vec<usize> = (0..count).collect();
    let is_first = all.skip(count).all(|at| may_lack(&at));
    let fits = |chosen: &Vec<usize>| {
        let layout = chosen.iter().copied().map(Some).collect();
        chosen.len() == count && case.fits(&SampleReading { rows: rows.clone(), layout })
    };
    let chosen =
        Some(required).filter(fits).or_else(|| Some(first).filter(|it| is_first && fits(it)))?;
    let names: Vec<String> = chosen.iter().map(|at| case.columns[*at].name.to_owned()).collect();
    let what = format!("If the {count} fields of each row are {}", names.join(", "));
    Some(Remedy::options(what, [option("columns").with(list(&names))]).into())
}
