//! The columns of a case's table in Arrow, each with the best matching type.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, RecordBatchOptions, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};

use super::trial::Trial;
use crate::harness::{Session, identifier, literal};

/// The columns that are copied, and their table.
pub(super) struct Columns {
    pub(super) table: String,
    /// The name and the type of each column.
    pub(super) columns: Vec<(String, String)>,
}

impl Columns {
    /// Returns the columns that COPY fills.
    pub(super) fn read(session: &Session, trial: &Trial<'_>) -> Self {
        let table = trial.root_table();
        let rows = session.rows(&format!(
            "SELECT attname, pg_catalog.format_type(atttypid, NULL) FROM pg_catalog.pg_attribute \
             WHERE attrelid = {}::pg_catalog.regclass AND attnum > 0 AND NOT attisdropped \
               AND attgenerated = '' ORDER BY attnum",
            literal(&table)
        ));
        let columns = rows.into_iter().map(|mut row| {
            let mut take = |at: usize| row[at].take().expect("a name");
            (take(0), take(1))
        });
        let is_copied = |name: &String| trial.columns().is_none_or(|some| some.contains(name));
        Self { columns: columns.filter(|(name, _)| is_copied(name)).collect(), table }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

/// Reads the rows as one batch; `number` varies the types of strings.
pub(super) fn read(session: &Session, columns: &Columns, number: usize) -> RecordBatch {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (place, (name, ty)) in columns.columns.iter().enumerate() {
        let array = typed(session, columns, (name, ty))
            .unwrap_or_else(|| strings(texts(session, columns, &identifier(name)), number + place));
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, arrays, &options).expect("columns of one length")
}

/// Returns the server's text of an expression for each row.
fn texts(session: &Session, columns: &Columns, what: &str) -> Vec<Option<String>> {
    let rows = session.rows(&columns.select(what));
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}

fn strings(texts: Vec<Option<String>>, number: usize) -> ArrayRef {
    match number % 3 {
        0 => Arc::new(StringArray::from(texts)),
        1 => Arc::new(LargeStringArray::from(texts)),
        _ => {
            let keys: DictionaryArray<Int32Type> = texts.iter().map(Option::as_deref).collect();
            Arc::new(keys)
        }
    }
}

/// Returns the values in Arrow's own type. Returns `None` if no type can hold all of them.
fn typed(session: &Session, columns: &Columns, (name, ty): (&str, &str)) -> Option<ArrayRef> {
    let column = identifier(name);
    let texts = |what: String| texts(session, columns, &what);
    let micros = |what: &str| {
        // Before 14, extract() returns double precision, which cannot hold the microseconds of present dates.
        texts(format!(
            "(extract(epoch FROM date_trunc('second', {what}))::bigint * 1000000
              + extract(microseconds FROM {what})::bigint % 1000000)::text"
        ))
    };
    let is_finite = |column: &str| {
        texts(format!("isfinite({column})::text")).iter().flatten().all(|it| it == "true")
    };
    let plain = || texts(format!("{column}::text"));
    Some(match ty {
        "smallint" => Arc::new(Int16Array::from(parsed(plain())?)),
        "integer" => Arc::new(Int32Array::from(parsed(plain())?)),
        "bigint" => Arc::new(Int64Array::from(parsed(plain())?)),
        "boolean" => Arc::new(BooleanArray::from(parsed(plain())?)),
        "real" => Arc::new(Float32Array::from(parsed(plain())?)),
        "double precision" => Arc::new(Float64Array::from(parsed(plain())?)),
        "numeric" => decimals(&plain())?,
        "date" if is_finite(&column) => Arc::new(Date32Array::from(parsed(texts(format!(
            "({column} - date '1970-01-01')::text"
        )))?)),
        "time without time zone" => {
            Arc::new(Time64MicrosecondArray::from(parsed(micros(&column))?))
        }
        "timestamp without time zone" if is_finite(&column) => {
            Arc::new(TimestampMicrosecondArray::from(parsed(micros(&column))?))
        }
        "timestamp with time zone" if is_finite(&column) => {
            Arc::new(TimestampMicrosecondArray::from(parsed(micros(&column))?).with_timezone("UTC"))
        }
        "uuid" => {
            let bytes = hex(texts(format!("replace({column}::text, '-', '')")));
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.into_iter(), 16).ok()?,
            )
        }
        "bytea" => {
            let bytes = hex(texts(format!("encode({column}, 'hex')")));
            Arc::new(bytes.iter().map(Option::as_deref).collect::<BinaryArray>())
        }
        _ => return None,
    })
}

fn parsed<T: std::str::FromStr>(texts: Vec<Option<String>>) -> Option<Vec<Option<T>>> {
    let parse = |text: Option<String>| {
        text.map(|text| text.parse().ok()).map_or(Some(None), |it| it.map(Some))
    };
    texts.into_iter().map(parse).collect()
}

fn hex(texts: Vec<Option<String>>) -> Vec<Option<Vec<u8>>> {
    let byte = |pair: &[u8]| {
        u8::from_str_radix(str::from_utf8(pair).expect("digits"), 16).expect("digits")
    };
    let bytes = |text: String| text.as_bytes().chunks(2).map(byte).collect();
    texts.into_iter().map(|text| text.map(bytes)).collect()
}

/// Returns numbers as decimals if they are printed with one scale and have at most 38 digits.
fn decimals(texts: &[Option<String>]) -> Option<ArrayRef> {
    let fraction = |text: &String| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let scale = texts.iter().flatten().map(fraction).max().unwrap_or(0);
    // 1 and 1.0 are equal, but printed differently.
    if texts.iter().flatten().any(|text| fraction(text) != scale) {
        return None;
    }
    let value = |text: &String| {
        let digits = text.replace('.', "") + &"0".repeat(scale - fraction(text));
        let value: i128 = digits.parse().ok()?;
        (value.unsigned_abs() < 10_u128.pow(38)).then_some(value)
    };
    let values: Vec<Option<i128>> = texts
        .iter()
        .map(|text| text.as_ref().map_or(Some(None), |text| value(text).map(Some)))
        .collect::<Option<_>>()?;
    let array = Decimal128Array::from(values);
    Some(Arc::new(array.with_precision_and_scale(38, i8::try_from(scale).ok()?).ok()?))
}
