//! The stage: a temporary table of a session, into which rows are copied that may be there already.

use pgsluice_core::catalog::{Relation, quoted};

/// To compile a statement takes longer than to run it.
const NO_JIT: &str = "SET jit = off";

/// A leaf that is nearly empty when a statement is planned may be long when it ends, and is not to be read again for
/// each row. Keys come in order: what compares them does so by the index, from one to the next or all along.
const BY_INDEX: &str = "SET enable_seqscan = off; SET enable_hashjoin = off";

/// The stage of a session.
pub(crate) fn stage() -> Relation {
    Relation { schema: "pg_temp".to_owned(), name: "pgsluice_stage".to_owned() }
}

/// Makes the stage for the input's `columns` of the table `root`, which lacks the one at the place `flag`. A commit
/// empties it. What else runs in the session, `has_triggers`, is planned as ever.
pub(crate) fn make_stage(
    root: &Relation,
    columns: &[String],
    flag: Option<usize>,
    has_triggers: bool,
) -> String {
    let stage = stage();
    let settings = if has_triggers { NO_JIT.to_owned() } else { [NO_JIT, BY_INDEX].join("; ") };
    let columns = columns_of(columns, flag);
    format!(
        "DROP TABLE IF EXISTS {stage}; {settings}; CREATE TEMPORARY TABLE {stage} ON COMMIT DELETE ROWS AS \
         SELECT {columns} FROM ONLY {root} WITH NO DATA"
    )
}

/// Numbers the rows of the stage as they come; `columns` are its others.
pub(crate) fn number_stage(columns: &[String]) -> String {
    let number = quoted(&number_column(columns));
    format!(
        "ALTER TABLE {} ADD COLUMN {number} pg_catalog.int8 GENERATED ALWAYS AS IDENTITY",
        stage()
    )
}

/// A name that no column of the input has.
pub(super) fn number_column(columns: &[String]) -> String {
    let names = (0..).map(|number: u32| format!("pgsluice_{number}"));
    names.into_iter().find(|name| !columns.contains(name)).unwrap_or_default()
}

/// Empties the stage before the transaction ends.
pub(crate) fn empty_stage() -> String {
    format!("TRUNCATE {}", stage())
}

/// The columns of the input as the table has them, but for a boolean at the place `flag`.
pub(crate) fn columns_of(columns: &[String], flag: Option<usize>) -> String {
    let column = |(place, name): (usize, &String)| match flag == Some(place) {
        true => format!("NULL::pg_catalog.bool AS {}", quoted(name)),
        false => quoted(name),
    };
    columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ")
}
