//! Key expressions: translates the server's deparsed text for the core to evaluate.
//!
//! `pg_get_expr` writes SQL with every cast and every pair of parentheses, so sqlparser can parse it, and
//! nothing depends on precedence. The text must have been deparsed with a search_path of `pg_catalog` only.
//! Then a bare name belongs to a system function, operator, type or collation, and all other names are
//! qualified. An expression with an unknown name or type is left to the server.

mod syntax;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use pgsluice_core::expr::{Case, Cut, Expr, ExtractField, Operator, TruncUnit};
use pgsluice_core::types::KeyType;
use sqlparser::ast::{CastKind, DataType, Expr as Ast, SelectItem, UnaryOperator, Value};

pub(crate) use syntax::fixed_zone;
use syntax::{
    arguments, constant, name, named_collation, named_type, operator, projection, stride_constant,
    text_constant, timestamp_constant, value,
};

/// The collation of an expression's text, for the functions applied to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collation {
    /// `pg_collation.oid`.
    pub(crate) oid: u32,
    /// Whether only ASCII letters have another case, the same one everywhere.
    pub(crate) ascii: bool,
}

/// An expression with its collation. The collation is `None` for types that have none, and for constants,
/// which adopt any other collation.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) expr: Expr,
    pub(crate) collation: Option<Collation>,
}

/// The meanings of the names in an expression.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) columns: HashMap<String, Operand>,
    /// The collation of text that is converted from another type.
    pub(crate) database: Collation,
    /// Whether the session's time zone `UTC` really is UTC.
    pub(crate) utc: bool,
}

/// Translates a list of expressions; returns `None` for each unknown one.
pub(crate) fn translate(list: &str, scope: &Scope) -> Vec<Option<Expr>> {
    let items = projection(list).unwrap_or_default();
    let expr = |item: SelectItem| match item {
        SelectItem::UnnamedExpr(ast) => scope.operand(&ast).map(|operand| operand.expr),
        _ => None,
    };
    items.into_iter().map(expr).collect()
}

impl Scope {
    fn operand(&self, ast: &Ast) -> Option<Operand> {
        match ast {
            Ast::Nested(inner) => self.operand(inner),
            Ast::Identifier(name) => self.columns.get(&name.value).cloned(),
            Ast::Value(value) => constant(&value.value),
            Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, format: None } => {
                self.cast(expr, data_type)
            }
            Ast::Collate { expr, collation } => {
                let collation = Some(named_collation(collation)?);
                Some(Operand { collation, ..self.operand(expr)? })
            }
            Ast::UnaryOp { op: UnaryOperator::Minus, expr } => {
                self.operand(expr)?.map(Expr::negate)
            }
            Ast::BinaryOp { left, op, right } => {
                let operator = operator(op)?;
                self.arithmetic(operator, left, right)
            }
            Ast::AtTimeZone { timestamp, time_zone } => self.at_time_zone(time_zone, timestamp),
            Ast::Extract { field, expr, .. } => {
                let field = ExtractField::from_name(&field.to_string())?;
                self.operand(expr)?.map(|expr| expr.extract(field))
            }
            Ast::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                self.substring(expr, from, substring_for.as_deref())
            }
            Ast::Function(function) => self.call(name(&function.name)?, &arguments(function)?),
            _ => None,
        }
    }

    fn call(&self, name: &str, arguments: &[&Ast]) -> Option<Operand> {
        match (name, arguments) {
            ("lower", [text]) => self.case(Case::Lower, text),
            ("upper", [text]) => self.case(Case::Upper, text),
            ("left", [text, numbers @ ..]) => self.cut(Cut::Left, text, numbers),
            ("right", [text, numbers @ ..]) => self.cut(Cut::Right, text, numbers),
            ("substr" | "substring", [text, numbers @ ..]) => {
                self.cut(Cut::Substring, text, numbers)
            }
            ("abs", [number]) => self.operand(number)?.map(Expr::abs),
            ("mod", [left, right]) => self.arithmetic(Operator::Remainder, left, right),
            ("COALESCE", items) => self.coalesce(items),
            ("date_trunc", [unit, of]) => {
                let unit = TruncUnit::from_name(text_constant(unit)?)?;
                self.operand(of)?.map(|of| of.truncate(unit))
            }
            ("date_part", [field, of]) => {
                let field = ExtractField::from_name(text_constant(field)?)?;
                self.operand(of)?.map(|of| of.part(field))
            }
            ("date_bin", [stride, of, origin]) => {
                let (stride, origin) = (stride_constant(stride)?, timestamp_constant(origin)?);
                self.operand(of)?.map(|of| of.bin(stride, origin))
            }
            ("timezone", [zone, of]) => self.at_time_zone(zone, of),
            _ => None,
        }
    }

    fn cast(&self, of: &Ast, to: &DataType) -> Option<Operand> {
        let to = named_type(to)?;
        let neutral = |expr| Operand { expr, collation: None };
        match value(of) {
            Some(Value::SingleQuotedString(text)) => {
                return Expr::constant(text.as_bytes(), &to).map(neutral);
            }
            Some(Value::Null) => return Expr::null(&to).map(neutral),
            _ => {}
        }
        let Operand { expr, collation } = self.operand(of)?;
        let becomes_text = is_text(&to) && !is_text(expr.ty());
        let collation = if becomes_text { Some(self.database) } else { collation };
        Some(Operand { expr: expr.cast(&to)?, collation })
    }

    fn case(&self, case: Case, text: &Ast) -> Option<Operand> {
        let text = self.operand(text)?;
        let collation = text.collation.unwrap_or(self.database);
        text.map(|text| text.case(case, collation.ascii))
    }

    fn cut(&self, cut: Cut, text: &Ast, numbers: &[&Ast]) -> Option<Operand> {
        let numbers = numbers.iter().map(|number| Some(self.operand(number)?.expr));
        let numbers = numbers.collect::<Option<Vec<Expr>>>()?;
        self.operand(text)?.map(|text| text.cut(cut, numbers))
    }

    /// Translates `SUBSTRING(text FROM number FOR number)`, in which the server does not write implicit
    /// casts.
    fn substring(&self, text: &Ast, from: &Ast, number: Option<&Ast>) -> Option<Operand> {
        let integer = |ast| {
            let expr = self.operand(ast)?.expr;
            matches!(expr.ty(), KeyType::Int2 | KeyType::Int4).then(|| expr.cast(&KeyType::Int4))?
        };
        let numbers = std::iter::once(from).chain(number).map(integer).collect::<Option<_>>()?;
        let text = self.operand(text).filter(|text| is_text(text.expr.ty()))?;
        text.map(|text| text.cast(&KeyType::Text)?.cut(Cut::Substring, numbers))
    }

    fn arithmetic(&self, operator: Operator, left: &Ast, right: &Ast) -> Option<Operand> {
        let right = self.operand(right)?.expr;
        self.operand(left)?.map(|left| Expr::arithmetic(operator, left, right))
    }

    /// Translates COALESCE. Different collations may conflict, which the server resolves by rules of its own.
    fn coalesce(&self, items: &[&Ast]) -> Option<Operand> {
        let items: Vec<Operand> =
            items.iter().map(|item| self.operand(item)).collect::<Option<_>>()?;
        let mut collations = items.iter().filter_map(|item| item.collation);
        let collation = collations.next();
        let alike = collations.all(|other| Some(other) == collation);
        let exprs = items.into_iter().map(|item| item.expr).collect();
        alike.then_some(Operand { expr: Expr::coalesce(exprs)?, collation })
    }

    /// Translates AT TIME ZONE with a zone whose offset has never changed. An abbreviation would take
    /// precedence over a zone's name, so `UTC` was checked, and the other zones have names that no
    /// abbreviation has.
    fn at_time_zone(&self, zone: &Ast, of: &Ast) -> Option<Operand> {
        let east = match text_constant(zone)? {
            "UTC" => self.utc.then_some(0)?,
            zone => zone.starts_with("Etc/").then(|| fixed_zone(zone))??,
        };
        self.operand(of)?.map(|of| of.at_time_zone(east))
    }
}

impl Operand {
    fn map(self, function: impl FnOnce(Expr) -> Option<Expr>) -> Option<Self> {
        Some(Self { expr: function(self.expr)?, collation: self.collation })
    }
}

fn is_text(ty: &KeyType) -> bool {
    matches!(ty, KeyType::Text | KeyType::Varchar { .. } | KeyType::Bpchar { .. } | KeyType::Name)
}
