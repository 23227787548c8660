//! Partition bounds: the server's deparsed text to structure, without reading any value.
//!
//! `pg_get_expr(relpartbound)` is SQL, so sqlparser parses it. The literals stay text; the server
//! itself turns them to datums, in [`super::introspect`]. Only the bound of a hash partition, which
//! has no literal but two numbers, is read without sqlparser: there may be thousands of them.

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
    /// The values in it that are not NULL, each with its place in the key.
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

/// The structure of `FOR VALUES ...` or `DEFAULT`; None if it is not understood.
pub(crate) fn parse(bound: &str) -> Option<Literals> {
    if let Some(numbers) = bound.strip_prefix("FOR VALUES WITH ") {
        return hash(numbers);
    }
    // sqlparser knows bounds only as a part of the statement that they come from.
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

/// `(modulus %d, remainder %d)`, as `get_rule_expr` in `ruleutils.c` writes it (PostgreSQL 13 to 18).
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

/// The text of a literal; the inner None is NULL, the outer one says that it is none.
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
