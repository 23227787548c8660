//! Integers: their limits, and `+ - * / %` for any two widths.
//!
//! Follows `int2pl` to `int8mod` of `src/backend/utils/adt/int.c` and `int8.c`, PostgreSQL 13 to 18. Overflows
//! and divisions by zero are errors there, and `None` here.

use crate::types::KeyType;

/// An operator on two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounded towards zero.
    Divide,
    /// `%` or `mod`, with the sign of the left operand.
    Remainder,
}

impl Operator {
    pub(super) fn apply(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            // Unlike the quotient, the remainder of the least integer by -1 is not an error.
            Self::Remainder if right == -1 => Some(0),
            Self::Remainder => left.checked_rem(right),
        }
    }
}

/// Returns the type of `left operator right`, which is the wider type. `%` exists only for operands of equal
/// width.
pub(super) fn result(operator: Operator, left: &KeyType, right: &KeyType) -> Option<KeyType> {
    let (of_left, of_right) = (limits(left)?, limits(right)?);
    if operator == Operator::Remainder && left != right {
        return None;
    }
    Some(if of_left.1 < of_right.1 { right.clone() } else { left.clone() })
}

/// Returns the least and the greatest value of an integer type; `None` for other types.
pub(super) fn limits(ty: &KeyType) -> Option<(i64, i64)> {
    match ty {
        KeyType::Int2 => Some((i16::MIN.into(), i16::MAX.into())),
        KeyType::Int4 => Some((i32::MIN.into(), i32::MAX.into())),
        KeyType::Int8 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// Returns `value` if it fits into the integer type `ty`.
pub(super) fn within(ty: &KeyType, value: i64) -> Option<i64> {
    let (min, greatest) = limits(ty)?;
    (min <= value && value <= greatest).then_some(value)
}
