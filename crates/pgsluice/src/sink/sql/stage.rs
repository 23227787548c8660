//! The stage: a temporary table of a session that receives rows which may exist already.

use pgsluice_core::catalog::{Relation, quote_identifier};

/// Compiling a statement takes longer than running it.
const NO_JIT: &str = "SET jit = off";

/// Planner settings for merges. A leaf that is nearly empty when a statement is planned may be long when it
/// ends, and must not be scanned for each row. Keys arrive in order, so comparisons by index go from one key
/// to the next.
const BY_INDEX: &str = "SET enable_seqscan = off; SET enable_hashjoin = off";

/// Returns the stage of a session.
pub(crate) fn stage() -> Relation {
    Relation { schema: "pg_temp".to_owned(), name: "pgsluice_stage".to_owned() }
}

/// Returns the statements that create the stage for the input's `columns` of the table `root`. The column at
/// position `flag` is not in the table. A commit empties the stage. If the table `has_triggers`, their
/// queries are planned as usual.
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

/// Returns the statement that numbers the rows of the stage in the order of their arrival. `columns` are its
/// other columns.
pub(crate) fn number_stage(columns: &[String]) -> String {
    let number = quote_identifier(&number_column(columns));
    format!(
        "ALTER TABLE {} ADD COLUMN {number} pg_catalog.int8 GENERATED ALWAYS AS IDENTITY",
        stage()
    )
}

/// Returns a name that no column of the input has.
pub(super) fn number_column(columns: &[String]) -> String {
    let names = (0..).map(|number: u32| format!("pgsluice_{number}"));
    names.into_iter().find(|name| !columns.contains(name)).unwrap_or_default()
}

/// Returns the statement that empties the stage before the transaction ends.
pub(crate) fn empty_stage() -> String {
    format!("TRUNCATE {}", stage())
}

/// Returns the columns of the input with the types of the table, except for a boolean at position `flag`.
pub(crate) fn columns_of(columns: &[String], flag: Option<usize>) -> String {
    let column = |(place, name): (usize, &String)| match flag == Some(place) {
        true => format!("NULL::pg_catalog.bool AS {}", quote_identifier(name)),
        false => quote_identifier(name),
    };
    columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ")
}
