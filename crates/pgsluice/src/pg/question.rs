//! A question: the query by which the server evaluates a key for a batch of rows.
//!
//! The fields of the rows are sent as the text of the input, so that the server's own input functions read
//! them. The answer has one integer for each row and key column: the hash of the value for a hash key,
//! otherwise the value's place among the bounds. The query runs under the user's search_path, so that
//! functions in the key behave as they do under COPY.

use pgsluice_core::catalog::quote_identifier;
use pgsluice_core::hash::PARTITION_SEED;

use super::constraint::{ReadColumn, collate, everywhere, typed_sql};
use super::raw::Raw;

/// One query about keys. Nodes with equal questions share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The query. It has a parameter for each field, then one for each array of bounds. It returns one row of
    /// arrays: the numbers of the rows, starting at 1, and the answers.
    pub(crate) sql: String,
    /// The fields of the input that it needs, counted from 0.
    pub(crate) fields: Vec<usize>,
    /// The values of bounds, ascending, in the server's format.
    pub(crate) bounds: Vec<Raw>,
    /// The number of values in an answer.
    pub(crate) width: usize,
}

/// A column or an expression of a key that the server evaluates.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The qualified type by which it is compared or hashed.
    pub(crate) ty: String,
    /// Its qualified collation, if it has one.
    pub(crate) collation: Option<String>,
    /// The question about it.
    pub(crate) answer: Answer,
}

/// The question about the value of a term.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The result of this function, the extended hash function of the key's operator class.
    Hash(String),
    /// Its place among the bounds.
    Place {
        /// The equality operator, such as `OPERATOR(pg_catalog.=)`.
        equal: String,
        /// The values of the bounds.
        bounds: Raw,
    },
}

impl Term {
    /// Returns SQL for the value of an expression, converted to the compared type.
    fn compared_sql(&self, value: &str) -> String {
        format!("{value}::{}{}", self.ty, collate(self.collation.as_deref()))
    }

    /// Returns the query for all values of `$1`, literals of bounds, in order, and for the place of each
    /// literal.
    pub(crate) fn places(&self) -> String {
        format!(
            "WITH value AS (
                 SELECT literal, {} AS value
                 FROM pg_catalog.unnest($1::pg_catalog.text[]) AS bound (literal)
             ), placed AS (
                 SELECT literal, pg_catalog.int8mul(2, pg_catalog.dense_rank() OVER (ORDER BY value)) AS place
                 FROM value
             )
             SELECT ARRAY(SELECT DISTINCT value FROM value ORDER BY value),
                    ARRAY(SELECT literal FROM placed ORDER BY literal),
                    ARRAY(SELECT place FROM placed ORDER BY literal)",
            typed_sql("literal", &self.ty, self.collation.as_deref())
        )
    }
}

/// Creates the question how the server spells the `fields`, columns of the input with their indexes. `iso`
/// means that the session writes dates in ISO style. Returns `None` if a column cannot be read.
pub(crate) fn spelling(
    columns: &[ReadColumn],
    fields: &[(usize, &str)],
    iso: bool,
) -> Option<Question> {
    let keys: Vec<String> = fields.iter().map(|(_, name)| quote_identifier(name)).collect();
    let rows = rows(columns, fields, &keys.join(", "), keys.len())?;
    let texts = fields.iter().enumerate().map(|(place, (_, name))| {
        let column = columns.iter().find(|column| column.name == *name)?;
        let text = if column.is_date && !iso {
            // JSON has only one format for dates.
            format!("pg_catalog.jsonb_build_array(k{place}) OPERATOR(pg_catalog.->>) 0")
        } else {
            column.output_sql(&format!("k{place}"))
        };
        Some(format!(", pg_catalog.array_agg({text})"))
    });
    let texts = texts.collect::<Option<String>>()?;
    Some(Question {
        sql: format!("SELECT pg_catalog.array_agg(place){texts} FROM {rows}"),
        fields: fields.iter().map(|(field, _)| *field).collect(),
        bounds: Vec::new(),
        width: keys.len(),
    })
}

/// Creates the question about `terms`, each with its index among the `count` expressions that the SQL `keys`
/// lists.
///
/// `columns` are the columns of the table. `fields` are the columns that the input has and the key needs,
/// each with its index in the input. Returns `None` if a name in the keys cannot be qualified.
pub(crate) fn question(
    columns: &[ReadColumn],
    fields: &[(usize, &str)],
    keys: &str,
    count: usize,
    terms: &[(usize, Term)],
) -> Option<Question> {
    let mut bounds = Vec::new();
    let mut buckets = Vec::new();
    let mut answers = Vec::new();
    for (place, term) in terms {
        let key = format!("k{place}");
        let value = term.compared_sql(&key);
        answers.push(match &term.answer {
            Answer::Hash(function) => {
                let seed = PARTITION_SEED.cast_signed();
                format!(
                    "CASE WHEN {key} IS DISTINCT FROM NULL THEN {function}({value}, {seed}) END"
                )
            }
            Answer::Place { equal, bounds: values } => {
                bounds.push(values.clone());
                let all = format!("${}::{}[]", fields.len() + bounds.len(), term.ty);
                buckets.push(format!("pg_catalog.width_bucket({value}, {all}) AS b{place}"));
                let beyond =
                    format!("CASE WHEN {value} {equal} ({all})[b{place}] THEN 0 ELSE 1 END");
                // Functions are used because a user's operator might hide the system's operator.
                format!("pg_catalog.int8pl(pg_catalog.int8mul(2, b{place}), {beyond})")
            }
        });
    }
    let answers: Vec<String> = answers
        .iter()
        .map(|answer| format!("pg_catalog.array_agg(({answer})::pg_catalog.int8)"))
        .collect();
    let buckets: String = buckets.iter().map(|bucket| format!(", {bucket}")).collect();
    let answers = answers.join(", ");
    let rows = rows(columns, fields, &everywhere(keys)?, count)?;
    // OFFSET prevents the subquery from being merged into the outer query, so that nothing is evaluated
    // twice.
    let sql = format!(
        "SELECT pg_catalog.array_agg(place), {answers} \
         FROM (SELECT *{buckets} FROM {rows} OFFSET 0) AS placed"
    );
    let fields = fields.iter().map(|(field, _)| *field).collect();
    Some(Question { sql, fields, bounds, width: terms.len() })
}

/// Returns the rows of a batch as an item of FROM. Its columns are their numbers, and the `count` expressions
/// that `keys` lists, named `k0` and so on. Returns `None` if a column cannot be read.
fn rows(
    columns: &[ReadColumn],
    fields: &[(usize, &str)],
    keys: &str,
    count: usize,
) -> Option<String> {
    let column = |column: &ReadColumn| {
        let place = fields.iter().position(|(_, name)| *name == column.name);
        column.read(&place.map_or("NULL".to_owned(), |place| format!("input.f{place}")))
    };
    let row = columns.iter().map(column).collect::<Option<Vec<String>>>()?;
    let list = |letter: char, count: usize| {
        (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(", ")
    };
    let inputs: Vec<String> =
        (1..=fields.len()).map(|n| format!("pg_catalog.unnest(${n}::pg_catalog.text[])")).collect();
    // Names in the keys are resolved in the innermost query first.
    Some(format!(
        "(SELECT input.place, key.*
          FROM ROWS FROM ({inputs}) WITH ORDINALITY AS input ({texts}, place)
          CROSS JOIN LATERAL (SELECT {keys} FROM (SELECT {row}) AS given) AS key ({names})
          OFFSET 0) AS keys",
        inputs = inputs.join(", "),
        texts = list('f', fields.len()),
        row = row.join(", "),
        names = list('k', count),
    ))
}
