//! A quick check of the ledger by a small load, which asks its own questions in the same round trip.
//!
//! It covers the usual case: a ledger that belongs to this role, with no privileges granted to others. It
//! costs the server less than [`super::trust::look`], because a new session plans several plain statements
//! faster than one that combines them. The first statement fails unless the table is plain, belongs to this
//! role, and has no triggers, rules and policies. The questions after it therefore never read anything that
//! another role may have put there. Only the table `load` is checked, because a small load uses no other.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::schema::Schema;
use super::tables::LOAD;
use super::trust::{Access, in_lock};
use crate::pg::sql::literal;
use crate::pg::template::fill;

/// Statements to be run under [`crate::pg::sql::PG_CATALOG_ONLY`]; `{load}` is the table. A division by zero
/// signals failure.
const QUICK_CHECK: &str = "
SELECT 1 / (
           c.relkind = 'r' AND c.reloftype = 0 AND c.relchecks = 0 AND c.relacl IS NULL
           AND NOT (c.relhastriggers OR c.relhasrules OR c.relrowsecurity OR c.relhassubclass OR c.relispartition)
           AND c.relpersistence = 'p'
           AND pg_get_userbyid(c.relowner) = current_user
           AND (SELECT pg_get_userbyid(n.nspowner) = current_user FROM pg_namespace n WHERE n.oid = c.relnamespace)
       )::int4
FROM pg_class c WHERE c.oid = {load};
SELECT attnum, attname, atttypid, attnotnull, atthasdef OR attidentity <> '' OR attgenerated <> ''
FROM pg_attribute WHERE attrelid = {load} AND attnum > 0 AND NOT attisdropped;
SELECT indisprimary, indisunique, indkey, indexprs IS NULL AND indpred IS NULL
FROM pg_index WHERE indrelid = {load}";

/// The statement that restores the user's search_path: the questions qualify their own names.
const AS_BEFORE: &str = "SET LOCAL search_path = DEFAULT";

/// The number of statements before the first of [`QUICK_CHECK`]: they begin the transaction and take the lock.
const BEFORE: usize = 3;

/// Returns the statements of the check, followed by `questions`, each of which must be one statement.
pub(crate) fn statements(schema: &Schema, questions: &[String]) -> String {
    let load = literal(schema.sql(&format!("{{ledger}}.{}", LOAD.name)).as_bytes());
    let check = fill(QUICK_CHECK, &[("load", &format!("{load}::regclass"))]);
    let check = [check.as_str(), AS_BEFORE].into_iter();
    let all: Vec<&str> = check.chain(questions.iter().map(String::as_str)).collect();
    in_lock(schema, &[LOAD], Access::Write, &all.join("; "))
}

/// Returns the answers to the questions, or `None` if the ledger needs a closer look.
pub(crate) fn answers(messages: &[SimpleQueryMessage]) -> Option<Vec<Vec<&SimpleQueryRow>>> {
    let mut statements = by_statement(messages).into_iter().skip(BEFORE);
    let (table, columns, indexes) = (statements.next()?, statements.next()?, statements.next()?);
    let [columns, indexes] = [columns, indexes].map(|rows| rows.into_iter().map(fields).collect());
    let columns: Vec<SimpleRow> = columns;
    let names = columns.iter().map(|column| (column[0].as_str(), column[1].as_str())).collect();
    let is_as_made = table.len() == 1
        && shape(&columns).as_ref() == Some(&LOAD.shape())
        && index(&indexes, &names).as_ref() == Some(&LOAD.indexes());
    // The answer to `AS_BEFORE` has no rows.
    is_as_made.then(|| statements.skip(1).collect())
}

/// Splits the rows by the statement that returned them.
pub(crate) fn by_statement(messages: &[SimpleQueryMessage]) -> Vec<Vec<&SimpleQueryRow>> {
    let ended = |message: &_| matches!(message, SimpleQueryMessage::CommandComplete(_));
    messages.split(ended).map(|answer| answer.iter().filter_map(row).collect()).collect()
}

fn row(message: &SimpleQueryMessage) -> Option<&SimpleQueryRow> {
    match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    }
}

type SimpleRow = Vec<String>;

fn fields(row: &SimpleQueryRow) -> SimpleRow {
    (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()
}

/// Spells the columns like [`super::tables::Table::shape`].
fn shape(columns: &[SimpleRow]) -> Option<String> {
    let column = |column: &SimpleRow| {
        let ty = Type::from_oid(column[2].parse().ok()?)?;
        let needed = if column[3] == "t" { " not null" } else { "" };
        let computed = if column[4] == "t" { " computed" } else { "" };
        Some(format!("{} {}{needed}{computed}", column[1], ty.name()))
    };
    let mut columns: Vec<String> = columns.iter().map(column).collect::<Option<_>>()?;
    columns.sort();
    Some(columns.join(", "))
}

/// Spells the index like [`super::tables::Table::indexes`]; returns `None` if there are several indexes, or
/// if it is not a plain one.
fn index(indexes: &[SimpleRow], names: &HashMap<&str, &str>) -> Option<String> {
    let row = match indexes {
        [] => return Some(String::new()),
        [row] => row,
        _ => return None,
    };
    let kind = match (&*row[0], &*row[1]) {
        ("t", _) => "key",
        (_, "t") => "unique",
        _ => "index",
    };
    let key: Option<Vec<&str>> =
        row[2].split(' ').map(|number| names.get(number).copied()).collect();
    key.filter(|_| row[3] == "t").map(|key| format!("{kind} {}", key.join(" ")))
}
