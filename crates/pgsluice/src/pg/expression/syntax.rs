//! The elements of deparsed SQL: calls, constants, and the names of types, collations and zones.

use pgsluice_core::expr::{Expr, Operator};
use pgsluice_core::types::{Datum, KeyType};
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr as Ast, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, ObjectName, SelectItem, SetExpr, Statement, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use super::{Collation, Operand};

/// Parses a list of expressions.
pub(super) fn projection(list: &str) -> Option<Vec<SelectItem>> {
    let sql = format!("SELECT {list}");
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &sql).ok()?;
    let (Statement::Query(query), true) = (statements.pop()?, statements.is_empty()) else {
        return None;
    };
    match *query.body {
        SetExpr::Select(select) => Some(select.projection),
        _ => None,
    }
}

/// Returns the seconds east of UTC of a zone whose offset has never changed; `None` for all other zones.
pub(crate) fn fixed_zone(name: &str) -> Option<i32> {
    let name = name.strip_prefix("Etc/").unwrap_or(name);
    if matches!(name, "UTC" | "UCT" | "GMT" | "Universal" | "Zulu" | "Greenwich") {
        return Some(0);
    }
    // POSIX counts westwards: Etc/GMT+5 is five hours behind.
    let hours: i32 = name.strip_prefix("GMT")?.parse().ok()?;
    (-14..=12).contains(&hours).then_some(-hours * 3600)
}

/// Returns a literal that needs no cast to show its type: `get_const_expr` in
/// `src/backend/utils/adt/ruleutils.c`.
pub(super) fn constant(value: &Value) -> Option<Operand> {
    let (text, ty) = match value {
        Value::Boolean(true) => ("true", KeyType::Bool),
        Value::Boolean(false) => ("false", KeyType::Bool),
        Value::Number(text, false) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            (text.as_str(), KeyType::Int4)
        }
        Value::Number(text, false) => (text.as_str(), KeyType::Numeric { scale: None }),
        _ => return None,
    };
    Some(Operand { expr: Expr::constant(text.as_bytes(), &ty)?, collation: None })
}

pub(super) fn operator(operator: &BinaryOperator) -> Option<Operator> {
    Some(match operator {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Remainder,
        _ => return None,
    })
}

/// Returns an unqualified name. A quoted name is the text in the quotes, and never a keyword.
pub(super) fn name(name: &ObjectName) -> Option<&str> {
    match &name.0[..] {
        [part] => part.as_ident().map(|ident| ident.value.as_str()),
        _ => None,
    }
}

/// Returns the arguments of a plain call.
pub(super) fn arguments(function: &Function) -> Option<Vec<&Ast>> {
    let Function {
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        uses_odbc_syntax: false,
        ..
    } = function
    else {
        return None;
    };
    let plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.within_group.is_empty();
    let argument = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref ast)) => Some(ast),
        _ => None,
    };
    plain.then(|| list.args.iter().map(argument).collect())?
}

pub(super) fn value(ast: &Ast) -> Option<&Value> {
    match ast {
        Ast::Value(value) => Some(&value.value),
        _ => None,
    }
}

/// Returns the text of a literal that is cast, and the type that it is cast to.
fn cast_literal(ast: &Ast) -> Option<(&str, &DataType)> {
    let Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None } = ast else {
        return None;
    };
    match value(expr)? {
        Value::SingleQuotedString(text) => Some((text, data_type)),
        _ => None,
    }
}

pub(super) fn text_constant(ast: &Ast) -> Option<&str> {
    let (text, ty) = cast_literal(ast)?;
    (named_type(ty)? == KeyType::Text).then_some(text)
}

/// Returns the microseconds of an interval that has neither months nor years.
pub(super) fn stride_constant(ast: &Ast) -> Option<i64> {
    let (text, ty) = cast_literal(ast)?;
    let plain = ty.to_string().eq_ignore_ascii_case("interval");
    let months = text.contains("mon") || text.contains("year");
    let interval = KeyType::Interval { precision: 6 };
    match interval.parse(text.as_bytes(), &mut Vec::new())? {
        Datum::Wide(usecs) if plain && !months => i64::try_from(usecs).ok(),
        _ => None,
    }
}

pub(super) fn timestamp_constant(ast: &Ast) -> Option<i64> {
    let (text, ty) = cast_literal(ast)?;
    let ty = named_type(ty).filter(|ty| matches!(ty, KeyType::Timestamp { .. }))?;
    match ty.parse(text.as_bytes(), &mut Vec::new())? {
        Datum::Int(usecs) => Some(usecs),
        _ => None,
    }
}

/// Returns the type, without a modifier, that `format_type` names so.
pub(super) fn named_type(ty: &DataType) -> Option<KeyType> {
    Some(match ty.to_string().to_ascii_lowercase().as_str() {
        "boolean" => KeyType::Bool,
        "smallint" => KeyType::Int2,
        "integer" => KeyType::Int4,
        "bigint" => KeyType::Int8,
        "numeric" => KeyType::Numeric { scale: None },
        "real" => KeyType::Float4,
        "double precision" => KeyType::Float8,
        "text" => KeyType::Text,
        "name" => KeyType::Name,
        "character varying" => KeyType::Varchar { max: None },
        "bpchar" => KeyType::Bpchar { max: None },
        "uuid" => KeyType::Uuid,
        "date" => KeyType::Date,
        "time without time zone" => KeyType::Time { precision: 6 },
        "timestamp without time zone" => KeyType::Timestamp { precision: 6 },
        "timestamp with time zone" => KeyType::Timestamptz { precision: 6, zone: None },
        _ => return None,
    })
}

/// Returns the collation `C` or `POSIX`, whose oids are fixed in `pg_collation.dat`.
pub(super) fn named_collation(collation: &ObjectName) -> Option<Collation> {
    let oid = match name(collation)? {
        "C" => 950,
        "POSIX" => 951,
        _ => return None,
    };
    Some(Collation { oid, ascii: true })
}
