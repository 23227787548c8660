//! A question: the query by which the server evaluates a key for a batch of rows.
//!
//! The rows' fields go there as the text of the input, so that the server's own input functions
//! read them. What comes back for each row and column of the key is one integer: for a hash key
//! the hash of the value, for others the place of the value among those of the bounds.

use pgsluice_core::hash::PARTITION_SEED;

use super::constraint::Column;
use super::raw::Raw;

/// What the server is asked about the key of a node; nodes whose questions are equal share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The query; a parameter for each field, then one for each array of bounds.
    pub(crate) sql: String,
    /// Which fields of the input it needs, from 0.
    pub(crate) fields: Vec<usize>,
    /// The values of bounds, ascending, as the server wrote them.
    pub(crate) bounds: Vec<Raw>,
    /// Integers in an answer.
    pub(crate) width: usize,
}

/// A column or an expression of a key that the server evaluates.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The type by which it is compared or hashed.
    pub(crate) ty: String,
    /// Its collation, qualified, if it has one.
    pub(crate) collation: Option<String>,
    /// What is asked about it.
    pub(crate) answer: Answer,
}

/// What is asked about the value of a term.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// What this function gives, the extended hash function of the key's operator class.
    Hash(String),
    /// Its place among the bounds.
    Place {
        /// What tells equal values, such as `OPERATOR(pg_catalog.=)`.
        equal: String,
        /// The values of the bounds.
        bounds: Raw,
    },
}

impl Term {
    /// An expression of type text read as the term's type.
    fn read(&self, value: &str) -> String {
        format!("{value}::{}{}", self.ty, self.collate())
    }

    fn collate(&self) -> String {
        self.collation.iter().map(|name| format!(" COLLATE {name}")).collect()
    }

    /// The query for all values of `$1`, literals of bounds, in their order, and for the place of
    /// each literal.
    pub(crate) fn places(&self) -> String {
        format!(
            "WITH value AS (
                 SELECT literal, {} AS value
                 FROM unnest($1::pg_catalog.text[]) AS bound (literal)
             ), placed AS (
                 SELECT literal, 2 * pg_catalog.dense_rank() OVER (ORDER BY value) AS place
                 FROM value
             )
             SELECT ARRAY(SELECT DISTINCT value FROM value ORDER BY value),
                    ARRAY(SELECT literal FROM placed ORDER BY literal),
                    ARRAY(SELECT place FROM placed ORDER BY literal)",
            self.read("literal")
        )
    }

    /// The place of `key`, the name of a column, among the values of parameter `bounds`.
    fn bucket(&self, key: &str, bounds: usize) -> String {
        format!("pg_catalog.width_bucket({}, ${bounds}::{}[])", self.read(key), self.ty)
    }
}

/// The question about `terms`, each with its place among the `count` expressions that the SQL
/// `keys` lists.
///
/// `columns` are those of the table, `fields` those of them that the input has and the key needs,
/// each with its place in the input.
pub(crate) fn question(
    columns: &[Column],
    fields: &[(usize, &str)],
    (keys, count): (&str, usize),
    terms: &[(usize, Term)],
) -> Question {
    let column = |column: &Column| {
        let place = fields.iter().position(|(_, name)| *name == column.name);
        column.read(&place.map_or("NULL".to_owned(), |place| format!("input.f{place}")))
    };
    let row: Vec<String> = columns.iter().map(column).collect();
    let inputs = (1..=fields.len()).map(|n| format!("${n}::pg_catalog.text[]"));
    let mut bounds = Vec::new();
    let mut buckets = String::new();
    let names = |letter: char, count: usize| (0..count).map(move |n| format!("{letter}{n}"));
    let answers = terms.iter().map(|(place, term)| match (format!("k{place}"), &term.answer) {
        (key, Answer::Hash(function)) => {
            let value = term.read(&key);
            let seed = PARTITION_SEED.cast_signed();
            format!(
                "CASE WHEN {key} IS DISTINCT FROM NULL THEN {function}({value}, {seed}::pg_catalog.int8) END"
            )
        }
        (key, Answer::Place { equal, bounds: values }) => {
            bounds.push(values.clone());
            let parameter = fields.len() + bounds.len();
            let bucket = term.bucket(&key, parameter);
            buckets.push_str(&format!(", {bucket} AS {key}_bucket"));
            format!(
                "2 * {key}_bucket + CASE WHEN {key}_bucket > 0 AND {} {equal} (${parameter}::{}[])[{key}_bucket] THEN 0 ELSE 1 END",
                term.read(&key), term.ty
            )
        }
    });
    let answers: Vec<String> =
        answers.map(|answer| format!("({answer})::pg_catalog.int8")).collect();
    // The names in the keys are looked up in the innermost query first. Materialized, so that
    // nothing is evaluated twice.
    let sql = format!(
        "WITH key AS MATERIALIZED (
             SELECT input.place, key.*
             FROM unnest({inputs}) WITH ORDINALITY AS input ({texts}, place)
             CROSS JOIN LATERAL (SELECT {keys} FROM (SELECT {row}) AS given) AS key ({names})
         ), placed AS MATERIALIZED (SELECT *{buckets} FROM key)
         SELECT {answers} FROM placed ORDER BY place",
        inputs = inputs.collect::<Vec<_>>().join(", "),
        texts = names('f', fields.len()).collect::<Vec<_>>().join(", "),
        row = row.join(", "),
        names = names('k', count).collect::<Vec<_>>().join(", "),
        answers = answers.join(", "),
    );
    let fields = fields.iter().map(|(field, _)| *field).collect();
    Question { sql, fields, bounds, width: terms.len() }
}
