//! Any text as a deparsed expression, and random expressions in the server's spelling over any row: nothing
//! panics, evaluation is deterministic, and text is cut between characters.
//!
//! The translator is private to its crate, so this target compiles its files.
#![no_main]

#[path = "../../crates/pgsluice/src/pg/expression/mod.rs"]
mod expression;

use expression::{Collation, Operand, Scope, fixed_zone, translate};
use libfuzzer_sys::fuzz_target;
use pgsluice_core::expr::{Expr, ExtractField, TruncUnit};
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser};
use pgsluice_core::types::{Datum, KeyType};
use pgsluice_fuzz::choices::Choices;

const FIELDS: [&str; 9] = ["i", "b", "n", "f", "ok", "word", "id", "ts", "day"];

fuzz_target!(|bytes: &[u8]| {
    let scope = scope();
    if let Ok(text) = str::from_utf8(bytes) {
        assert!(fixed_zone(text).is_none_or(|east| east.abs() <= 14 * 3600));
        try_all(&translate(text, &scope), b"\\N");
    }
    let mut choices = Choices::new(bytes);
    let list = format!("{}, {}", text(&mut choices, 3), number(&mut choices, 3));
    let exprs = translate(&list, &scope);
    assert_eq!(exprs.len(), 2, "{list}");
    let row = row(&mut choices);
    try_all(&exprs, &row);
});

fn scope() -> Scope {
    let types = [
        KeyType::Int4,
        KeyType::Int8,
        KeyType::Numeric { scale: None },
        KeyType::Float8,
        KeyType::Bool,
        KeyType::Text,
        KeyType::Uuid,
        KeyType::Timestamp { precision: 6 },
        KeyType::Date,
    ];
    let collation = Collation { oid: 950, ascii: true };
    let column = |(place, (name, ty)): (usize, (&str, KeyType))| {
        let collation = (ty == KeyType::Text).then_some(collation);
        let expr = Expr::column(place, ty).expect("a type of expressions");
        (name.to_owned(), Operand { expr, collation })
    };
    let columns = FIELDS.into_iter().zip(types).enumerate().map(column).collect();
    Scope { columns, database: collation, utc: true }
}

fn try_all(exprs: &[Option<Expr>], row: &[u8]) {
    let parser = Parser::new(&Format::text(), (0..FIELDS.len()).collect());
    let mut keys = Fields::default();
    parser.parse(row, &mut keys);
    for expr in exprs.iter().flatten() {
        let (mut scratch, mut again) = (Vec::new(), b"left over".to_vec());
        let value = expr.evaluate(row, &keys, &mut scratch);
        assert_eq!(value, expr.evaluate(row, &keys, &mut again));
        if let (KeyType::Text, Ok(Some(Datum::Bytes(bytes)))) = (expr.ty(), value) {
            assert!(str::from_utf8(row).is_err() || str::from_utf8(bytes).is_ok(), "{expr:?}");
        }
    }
}

fn text(choices: &mut Choices<'_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return choices.pick(&["word", "(id)::text", "(ok)::text", "'aB€'::text"]).to_owned();
    };
    match choices.below(7) {
        0 => format!("lower({})", text(choices, depth)),
        1 => format!("upper({})", text(choices, depth)),
        2 => format!("\"left\"({}, {})", text(choices, depth), integer(choices, depth)),
        3 => format!("\"right\"({}, {})", text(choices, depth), integer(choices, depth)),
        4 => {
            let text = text(choices, depth);
            format!("substr({text}, {}, {})", integer(choices, depth), integer(choices, depth))
        }
        5 => format!("COALESCE({}, {})", text(choices, depth), text(choices, depth)),
        _ => format!("({})::text", number(choices, depth)),
    }
}

fn integer(choices: &mut Choices<'_>, depth: usize) -> String {
    format!("({})::integer", number(choices, depth))
}

fn number(choices: &mut Choices<'_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return choices
            .pick(&["i", "b", "'-3'::integer", "2", "(n)::bigint", "(f)::smallint"])
            .into();
    };
    match choices.below(8) {
        0..3 => {
            let operator = choices.pick(&["+", "-", "*", "/", "%"]);
            format!("({} {operator} {})", number(choices, depth), number(choices, depth))
        }
        3 => format!("(- {})", number(choices, depth)),
        4 => format!("abs({})", number(choices, depth)),
        5 => {
            let (field, _) = choices.pick(&ExtractField::ALL);
            format!("(EXTRACT({field} FROM {}))::bigint", timestamp(choices, depth))
        }
        6 => {
            let (field, _) = choices.pick(&ExtractField::ALL);
            format!("(date_part('{field}'::text, {}))::bigint", timestamp(choices, depth))
        }
        _ => format!("({})::bigint", text(choices, depth)),
    }
}

fn timestamp(choices: &mut Choices<'_>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return choices.pick(&["ts", "(day)::timestamp without time zone"]).to_owned();
    };
    match choices.below(3) {
        0 => {
            let (unit, _) = choices.pick(&TruncUnit::ALL);
            format!("date_trunc('{unit}'::text, {})", timestamp(choices, depth))
        }
        1 => format!(
            "date_bin('01:00:00'::interval, {}, '2000-01-01'::timestamp without time zone)",
            timestamp(choices, depth)
        ),
        _ => format!(
            "(({} AT TIME ZONE 'UTC'::text) AT TIME ZONE 'Etc/GMT+12'::text)",
            timestamp(choices, depth)
        ),
    }
}

/// Returns values, some at the ends of the types, or any bytes.
fn row(choices: &mut Choices<'_>) -> Vec<u8> {
    let values = [
        "\\N",
        "",
        "0",
        "-1",
        "7",
        "2147483647",
        "-2147483648",
        "9223372036854775807",
        "1e20",
        "-9223372036854775808",
        "0.5",
        "NaN",
        "inf",
        "t",
        "Äb",
        "aB€",
        "0001-01-01",
        "9999-12-31",
        "infinity",
        "-infinity",
        "2024-02-29 23:59:59.999999",
        "\\t",
        "\\\\",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ];
    let field = |choices: &mut Choices<'_>| match choices.once_in(8) {
        true => (0..choices.below(6)).map(|_| choices.byte()).collect(),
        false => choices.pick(&values).as_bytes().to_vec(),
    };
    FIELDS.map(|_| field(choices)).join(&b'\t')
}
