//! Evaluation of an expression for one row. Every function except COALESCE is strict. All operands of a strict
//! function are evaluated, because any of them may be an error.

use super::value::{ExprValue, read_column};
use super::{Cut, Expr, ExprNode, Operator, arithmetic, string, time};
use crate::parse::{self, Fields};
use crate::types::{Datum, KeyType};

/// The reason why an expression has no certain value for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The row lacks the field of a column in the expression.
    Missing,
    /// The value of a column, or a result computed from it, is left to the server.
    Value,
}

/// The row for which expressions are evaluated.
#[derive(Clone, Copy)]
struct ExprInput<'a> {
    row: &'a [u8],
    keys: &'a Fields,
}

impl Expr {
    /// Evaluates the expression for `row`, whose fields are `keys`; `None` is NULL.
    ///
    /// New text is stored in `scratch`.
    pub fn evaluate<'a>(
        &'a self,
        row: &'a [u8],
        keys: &'a Fields,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Option<Datum<'a>>, Unknown> {
        let value = self.value(ExprInput { row, keys }, scratch)?;
        Ok(value.map(|value| value.into_datum(scratch)))
    }

    fn value<'a>(
        &'a self,
        input: ExprInput<'a>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<ExprValue<'a>>, Unknown> {
        let (value, of) = match &self.node {
            ExprNode::Column { place, ty } => return column(*place, ty, input, scratch),
            ExprNode::Constant(value) => {
                return Ok(value
                    .as_ref()
                    .and_then(|value| ExprValue::from_datum(value.as_datum())));
            }
            ExprNode::Coalesce(items) => return coalesce(items, input, scratch),
            ExprNode::Arithmetic(operator, sides) => {
                return arithmetic(*operator, sides, &self.ty, input, scratch);
            }
            ExprNode::Cut(cut, text, numbers) => {
                return cut_text(*cut, text, numbers, input, scratch);
            }
            ExprNode::Cast(_, of)
            | ExprNode::Case(_, of)
            | ExprNode::Negate(of)
            | ExprNode::Abs(of)
            | ExprNode::Truncate(_, of)
            | ExprNode::Part(_, of)
            | ExprNode::Bin { of, .. }
            | ExprNode::Shift(_, of) => (of.value(input, scratch)?, of),
        };
        let Some(value) = value else { return Ok(None) };
        let value = match &self.node {
            ExprNode::Case(case, _) => string::change(*case, value, scratch),
            ExprNode::Cast(cast, _) => cast.apply(value, &self.ty, scratch),
            ExprNode::Part(field, _) => time::part(*field, value, &of.ty, &self.ty, scratch),
            node => {
                value.int().and_then(|value| self.evaluate_int(node, value)).map(ExprValue::Int)
            }
        };
        value.map(Some).ok_or(Unknown::Value)
    }

    /// Evaluates the functions from one integer to another.
    fn evaluate_int(&self, node: &ExprNode, value: i64) -> Option<i64> {
        match node {
            ExprNode::Negate(_) => arithmetic::within(&self.ty, value.checked_neg()?),
            ExprNode::Abs(_) => arithmetic::within(&self.ty, value.checked_abs()?),
            ExprNode::Truncate(unit, _) => time::truncate(*unit, value),
            ExprNode::Bin { stride, origin, .. } => time::bin(*stride, value, *origin),
            ExprNode::Shift(usecs, _) => time::shift(value, *usecs),
            _ => None,
        }
    }
}

fn column<'a>(
    place: usize,
    ty: &KeyType,
    input: ExprInput<'a>,
    scratch: &mut Vec<u8>,
) -> Result<Option<ExprValue<'a>>, Unknown> {
    match input.keys.get(place, input.row) {
        parse::Value::Missing => Err(Unknown::Missing),
        parse::Value::Null => Ok(None),
        value => read_column(ty, value, scratch).map(Some).ok_or(Unknown::Value),
    }
}

fn coalesce<'a>(
    items: &'a [Expr],
    input: ExprInput<'a>,
    scratch: &mut Vec<u8>,
) -> Result<Option<ExprValue<'a>>, Unknown> {
    for item in items {
        if let Some(value) = item.value(input, scratch)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Evaluates both sides even if one is NULL, because the other may be an error.
fn arithmetic<'a>(
    operator: Operator,
    [left, right]: &'a [Expr; 2],
    ty: &KeyType,
    input: ExprInput<'a>,
    scratch: &mut Vec<u8>,
) -> Result<Option<ExprValue<'a>>, Unknown> {
    let left = left.value(input, scratch)?;
    let right = right.value(input, scratch)?;
    let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
    let value = left.int().zip(right.int());
    let value = value.and_then(|(left, right)| operator.apply(left, right));
    let value = value.and_then(|value| arithmetic::within(ty, value));
    value.map(|value| Some(ExprValue::Int(value))).ok_or(Unknown::Value)
}

/// Evaluates the numbers first, because the text may be stored in `scratch`, which they need too.
fn cut_text<'a>(
    cut: Cut,
    text: &'a Expr,
    numbers: &'a [Expr],
    input: ExprInput<'a>,
    scratch: &mut Vec<u8>,
) -> Result<Option<ExprValue<'a>>, Unknown> {
    let mut values = [None; 2];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = number.value(input, scratch)?.and_then(ExprValue::int);
    }
    let text = text.value(input, scratch)?;
    let values = &values[..numbers.len()];
    let (Some(text), false) = (text, values.contains(&None)) else { return Ok(None) };
    let [first, second] = [values.first(), values.get(1)].map(|value| value.copied().flatten());
    let cut = text.bytes(scratch).and_then(|bytes| cut.find(bytes, first?, second));
    cut.map(|range| Some(text.part(range))).ok_or(Unknown::Value)
}
