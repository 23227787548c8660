//! Any bytes as a deparsed bound: nothing panics, and a bound in the server's spelling is read back
//! unchanged.
//!
//! The parser is private to its crate, so this target compiles its file.
#![no_main]

#[path = "../../crates/pgsluice/src/pg/bounds.rs"]
mod bounds;

use bounds::{Literal, Literals};
use libfuzzer_sys::fuzz_target;
use pgsluice_fuzz::choices::Choices;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = str::from_utf8(bytes)
        && let Some(Literals::Hash { modulus, remainder }) = bounds::parse(text)
    {
        assert!(remainder < modulus);
    }
    let literals = literals(&mut Choices::new(bytes));
    let text = deparse(&literals);
    assert_eq!(bounds::parse(&text), Some(literals), "{text}");
});

fn literals(choices: &mut Choices<'_>) -> Literals {
    match choices.below(4) {
        0 => Literals::Default,
        1 => {
            let remainder = u64::from(choices.byte());
            let modulus = remainder + 1 + u64::from(choices.byte()) * 8_000_000;
            Literals::Hash { modulus, remainder }
        }
        2 => {
            let values = 1 + choices.below(4);
            Literals::List((0..values).map(|_| value(choices)).collect())
        }
        _ => {
            let columns = 1 + choices.below(4);
            let mut edges = || (0..columns).map(|_| edge(choices)).collect();
            Literals::Range { lower: edges(), upper: edges() }
        }
    }
}

fn edge(choices: &mut Choices<'_>) -> Literal {
    match choices.below(8) {
        0 => Literal::MinValue,
        1 => Literal::MaxValue,
        _ => Literal::Value(value(choices).unwrap_or_default()),
    }
}

/// Returns a number, a boolean, any other text, or NULL.
fn value(choices: &mut Choices<'_>) -> Option<String> {
    Some(match choices.below(6) {
        0 => return None,
        1 => choices.byte().to_string(),
        2 => choices.pick(&["true", "false", "12.50", "1e+20", "0.000001"]).to_owned(),
        _ => (0..choices.below(6)).map(|_| character(choices)).collect(),
    })
}

fn character(choices: &mut Choices<'_>) -> char {
    match choices.pick(b"'\"\\$;-/*(),:?@{} \n\r\tENUn0ae") {
        b'a' => choices.pick(&['ä', '€', '𝄞', '\u{a0}', '\u{feff}', '\u{7f}', '\u{1}']),
        plain => char::from(plain),
    }
}

/// Returns a constant as `get_const_expr` in `src/backend/utils/adt/ruleutils.c` (PostgreSQL 18) writes it:
/// plain numbers and booleans bare, anything else as a string with its quotes doubled.
fn constant(text: &str) -> String {
    let number = text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|each| "0123456789.e+".contains(each))
        && text.parse::<f64>().is_ok();
    if number || matches!(text, "true" | "false") {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn deparse(literals: &Literals) -> String {
    let edge = |edge: &Literal| match edge {
        Literal::MinValue => "MINVALUE".to_owned(),
        Literal::Value(text) => constant(text),
        Literal::MaxValue => "MAXVALUE".to_owned(),
    };
    let edges = |edges: &[Literal]| edges.iter().map(edge).collect::<Vec<_>>().join(", ");
    match literals {
        Literals::Default => "DEFAULT".to_owned(),
        Literals::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
        Literals::List(values) => {
            let value = |value: &Option<String>| value.as_deref().map_or("NULL".into(), constant);
            let values: Vec<String> = values.iter().map(value).collect();
            format!("FOR VALUES IN ({})", values.join(", "))
        }
        Literals::Range { lower, upper } => {
            format!("FOR VALUES FROM ({}) TO ({})", edges(lower), edges(upper))
        }
    }
}
