//! Partition bounds: parses the text that the server deparses, without interpreting any value.
//!
//! `pg_get_expr(relpartbound)` is SQL, so sqlparser parses it. Literals stay text; the server itself converts
//! them to datums, in [`super::introspect`]. Only the bound of a hash partition, which has two numbers
//! instead of literals, is parsed without sqlparser, because there may be thousands of them.

use sqlparser::ast::{Expr, ForValues, PartitionBoundValue, Statement, Value};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

/// A bound whose values are still literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literals {
    Default,
    Hash { modulus: u64, remainder: u64 },
    List(Vec<Option<String>>),
    Range { lower: Vec<Literal>, upper: Vec<Literal> },
}

/// One column of a range bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    MinValue,
    Value(String),
    MaxValue,
}

impl Literals {
    /// Returns its values other than NULL, each with its index in the key.
    pub(crate) fn values(&self) -> impl Iterator<Item = (usize, &str)> {
        let (list, edges): (&[_], [&[_]; 2]) = match self {
            Self::Default | Self::Hash { .. } => (&[], [&[], &[]]),
            Self::List(values) => (values, [&[], &[]]),
            Self::Range { lower, upper } => (&[], [lower, upper]),
        };
        let edges = edges.into_iter().flat_map(|edges| edges.iter().enumerate());
        let edges = edges.filter_map(|(index, edge)| match edge {
            Literal::Value(text) => Some((index, text.as_str())),
            Literal::MinValue | Literal::MaxValue => None,
        });
        list.iter().flatten().map(|text| (0, text.as_str())).chain(edges)
    }
}

/// Parses `FOR VALUES ...` or `DEFAULT`; returns `None` if the text is not understood.
pub(crate) fn parse(bound: &str) -> Option<Literals> {
    if let Some(numbers) = bound.strip_prefix("FOR VALUES WITH ") {
        return hash(numbers);
    }
    // sqlparser can parse bounds only within this statement.
    let sql = format!("CREATE TABLE leaf PARTITION OF root {bound}");
    let statement = Parser::parse_sql(&PostgreSqlDialect {}, &sql).ok()?.pop()?;
    let Statement::CreateTable(create) = statement else { return None };
    Some(match create.for_values? {
        ForValues::Default => Literals::Default,
        ForValues::With { .. } => return None,
        ForValues::In(values) => Literals::List(values.iter().map(literal).collect::<Option<_>>()?),
        ForValues::From { from, to } => {
            Literals::Range { lower: edges(&from)?, upper: edges(&to)? }
        }
    })
}

/// Parses `(modulus %d, remainder %d)`, as written by `get_rule_expr` in `ruleutils.c` (PostgreSQL 13 to 18).
fn hash(numbers: &str) -> Option<Literals> {
    let numbers = numbers.strip_prefix("(modulus ")?.strip_suffix(')')?;
    let (modulus, remainder) = numbers.split_once(", remainder ")?;
    let (modulus, remainder) = (modulus.parse().ok()?, remainder.parse().ok()?);
    (remainder < modulus).then_some(Literals::Hash { modulus, remainder })
}

fn edges(values: &[PartitionBoundValue]) -> Option<Vec<Literal>> {
    let edge = |value: &PartitionBoundValue| {
        Some(match value {
            PartitionBoundValue::MinValue => Literal::MinValue,
            PartitionBoundValue::MaxValue => Literal::MaxValue,
            PartitionBoundValue::Expr(expr) => Literal::Value(literal(expr)??),
        })
    };
    values.iter().map(edge).collect()
}

/// Returns the text of a literal. The inner `None` is NULL; the outer one means that it is not a literal.
fn literal(expr: &Expr) -> Option<Option<String>> {
    let Expr::Value(value) = expr else { return None };
    Some(match &value.value {
        Value::Null => None,
        Value::Boolean(value) => Some(value.to_string()),
        Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Literal {
        Literal::Value(text.to_owned())
    }

    #[test]
    fn parses_what_the_server_deparses() {
        assert_eq!(parse("DEFAULT"), Some(Literals::Default));
        assert_eq!(
            parse("FOR VALUES WITH (modulus 800, remainder 7)"),
            Some(Literals::Hash { modulus: 800, remainder: 7 })
        );
        assert_eq!(
            parse("FOR VALUES IN (1, '-2', NULL, true, 'it''s \\n', '')"),
            Some(Literals::List(
                [Some("1"), Some("-2"), None, Some("true"), Some("it's \\n"), Some("")]
                    .map(|value| value.map(str::to_owned))
                    .to_vec()
            ))
        );
        assert_eq!(
            parse("FOR VALUES FROM ('2020-01-01', MINVALUE) TO ('2020-02-01', MAXVALUE)"),
            Some(Literals::Range {
                lower: vec![value("2020-01-01"), Literal::MinValue],
                upper: vec![value("2020-02-01"), Literal::MaxValue],
            })
        );
    }

    #[test]
    fn gives_up_on_anything_else() {
        assert_eq!(parse("FOR VALUES IN (f(1))"), None);
        assert_eq!(parse("FOR VALUES WITH (modulus 0, remainder 0)"), None);
        assert_eq!(parse("FOR VALUES WITH (modulus 4, remainder -1)"), None);
        assert_eq!(parse("FOR VALUES WITH (modulus 4, remainder 1) "), None);
        assert_eq!(parse("; DROP TABLE x"), None);
    }
}
