//! A glance at the ledger by a small load, which asks its own questions in the same round trip.
//!
//! It does for the usual case, a ledger of this role of which nobody else was given anything, and costs the server
//! less than [`super::trust::look`]: a session that is new plans several plain statements sooner than one of them all.
//! The first of them fails unless the table is plain, this role's own and without triggers, rules and policies.
//! So none of the questions behind it reads what others have put there. Only the table `load` is looked at: a small
//! load reads and writes no other.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

use super::schema::Schema;
use super::tables::LOAD;
use super::trust::{Access, in_lock};
use crate::pg::sql::literal;
use crate::pg::template::fill;

/// To be run under [`crate::pg::sql::PG_CATALOG_ONLY`]; `{load}` is the table. A division by zero is the failure.
const GLANCE: &str = "
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

/// Behind it names are the user's again: the questions qualify their own.
const AS_BEFORE: &str = "SET LOCAL search_path = DEFAULT";

/// How many statements come before the first of [`GLANCE`]: they begin the transaction, and lock.
const BEFORE: usize = 3;

/// The statements of a glance, with `questions` behind them; each of these must be one statement.
pub(crate) fn glance(schema: &Schema, questions: &[String]) -> String {
    let load = literal(schema.sql(&format!("{{ledger}}.{}", LOAD.name)).as_bytes());
    let glance = fill(GLANCE, &[("load", &format!("{load}::regclass"))]);
    let own = [glance.as_str(), AS_BEFORE].into_iter();
    let all: Vec<&str> = own.chain(questions.iter().map(String::as_str)).collect();
    in_lock(schema, &[LOAD], Access::Write, &all.join("; "))
}

/// The answers to the questions, if the ledger is as it must be. If not, a closer look is needed.
pub(crate) fn answers(said: &[SimpleQueryMessage]) -> Option<Vec<Vec<&SimpleQueryRow>>> {
    let mut statements = by_statement(said).into_iter().skip(BEFORE);
    let (table, columns, indexes) = (statements.next()?, statements.next()?, statements.next()?);
    let [columns, indexes] = [columns, indexes].map(|rows| rows.into_iter().map(fields).collect());
    let columns: Vec<SimpleRow> = columns;
    let names = columns.iter().map(|column| (column[0].as_str(), column[1].as_str())).collect();
    let is_as_made = table.len() == 1
        && shape(&columns).as_ref() == Some(&LOAD.shape())
        && index(&indexes, &names).as_ref() == Some(&LOAD.indexes());
    // That of `AS_BEFORE` has no rows.
    is_as_made.then(|| statements.skip(1).collect())
}

/// The rows that each statement has answered.
pub(crate) fn by_statement(said: &[SimpleQueryMessage]) -> Vec<Vec<&SimpleQueryRow>> {
    let ended = |message: &_| matches!(message, SimpleQueryMessage::CommandComplete(_));
    said.split(ended).map(|answer| answer.iter().filter_map(row).collect()).collect()
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

/// The columns, as [`super::tables::Table::shape`] spells them.
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

/// The index, as [`super::tables::Table::indexes`] spells it; None if there are several, or it is more than that.
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
