//! Expressions over the columns of a row, evaluated as in PostgreSQL. A partition key may have them in place of
//! columns.
//!
//! An expression is typed when it is built, and only from parts whose semantics are known exactly. Some values
//! are left to the server, for that row: doubtful values (text that is not ASCII in `lower`), and values that
//! the server would reject (an overflow, a division by zero). Each family of functions has its own file; all
//! functions except COALESCE are strict.

mod arithmetic;
mod calendar;
mod cast;
mod evaluate;
mod string;
mod time;
mod value;

use crate::types::{KeyType, OwnedDatum};
pub use arithmetic::Operator;
pub use cast::Cast;
pub use evaluate::Unknown;
pub use string::{Case, Cut};
pub use time::{ExtractField, TruncUnit};

/// A typed expression whose columns are fields of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    node: ExprNode,
    ty: KeyType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExprNode {
    /// A column by its position in the input, with the relevant part of its modifier.
    Column {
        place: usize,
        ty: KeyType,
    },
    /// A constant; `None` is NULL.
    Constant(Option<OwnedDatum>),
    Coalesce(Vec<Expr>),
    Cast(Cast, Box<Expr>),
    Case(Case, Box<Expr>),
    /// The text, then the numbers that determine the substring.
    Cut(Cut, Box<Expr>, Vec<Expr>),
    Arithmetic(Operator, Box<[Expr; 2]>),
    Negate(Box<Expr>),
    Abs(Box<Expr>),
    Truncate(TruncUnit, Box<Expr>),
    Part(ExtractField, Box<Expr>),
    /// Steps of `stride` microseconds from `origin`.
    Bin {
        stride: i64,
        origin: i64,
        of: Box<Expr>,
    },
    /// A timestamp, shifted by a number of microseconds.
    Shift(i64, Box<Expr>),
}

impl Expr {
    /// Returns the column at `place` of the input, with values of the type `ty`; `None` if expressions do not
    /// support the type.
    #[must_use]
    pub fn column(place: usize, ty: KeyType) -> Option<Self> {
        Some(Self { ty: without_modifiers(&ty)?, node: ExprNode::Column { place, ty } })
    }

    /// Returns `text` as a constant of the type `ty`; `None` if its value is not certain.
    #[must_use]
    pub fn constant(text: &[u8], ty: &KeyType) -> Option<Self> {
        let ty = without_modifiers(ty)?;
        let value = ty.parse(text, &mut Vec::new()).map(OwnedDatum::from)?;
        Some(Self { node: ExprNode::Constant(Some(value)), ty })
    }

    /// Returns a NULL of the type `ty`, which also stands for a column that the input omits.
    #[must_use]
    pub fn null(ty: &KeyType) -> Option<Self> {
        Some(Self { node: ExprNode::Constant(None), ty: without_modifiers(ty)? })
    }

    /// Returns `COALESCE` of items of one type.
    #[must_use]
    pub fn coalesce(items: Vec<Self>) -> Option<Self> {
        let ty = items.first()?.ty.clone();
        let alike = items.iter().all(|item| item.ty == ty);
        alike.then_some(Self { node: ExprNode::Coalesce(items), ty })
    }

    /// Returns `CAST` to a type without a modifier.
    #[must_use]
    pub fn cast(self, to: &KeyType) -> Option<Self> {
        let to = without_modifiers(to)?;
        match self.ty == to {
            true => Some(self),
            false => {
                let cast = Cast::find(&self.ty, &to)?;
                Some(Self { node: ExprNode::Cast(cast, Box::new(self)), ty: to })
            }
        }
    }

    /// Applies `lower` or `upper` to text. Either the collation of the text has only the letters of ASCII, or
    /// the result must be the same under every collation.
    #[must_use]
    pub fn case(self, case: Case, ascii_collation: bool) -> Option<Self> {
        let known = ascii_collation || self.is_common_ascii();
        self.over(KeyType::Text, KeyType::Text, |text| ExprNode::Case(case, text)).filter(|_| known)
    }

    /// Applies `left`, `right`, `substr` or `substring`.
    #[must_use]
    pub fn cut(self, cut: Cut, numbers: Vec<Self>) -> Option<Self> {
        let known = numbers.iter().all(|number| number.ty == KeyType::Int4);
        let number = cut.arguments().contains(&numbers.len());
        self.over(KeyType::Text, KeyType::Text, |text| ExprNode::Cut(cut, text, numbers))
            .filter(|_| known && number)
    }

    /// Applies `+ - * / %` to integers.
    #[must_use]
    pub fn arithmetic(operator: Operator, left: Self, right: Self) -> Option<Self> {
        let ty = arithmetic::result(operator, &left.ty, &right.ty)?;
        Some(Self { node: ExprNode::Arithmetic(operator, Box::new([left, right])), ty })
    }

    /// Applies unary minus to an integer.
    #[must_use]
    pub fn negate(self) -> Option<Self> {
        arithmetic::limits(&self.ty)?;
        Some(Self { ty: self.ty.clone(), node: ExprNode::Negate(Box::new(self)) })
    }

    /// Applies `abs` to an integer.
    #[must_use]
    pub fn abs(self) -> Option<Self> {
        arithmetic::limits(&self.ty)?;
        Some(Self { ty: self.ty.clone(), node: ExprNode::Abs(Box::new(self)) })
    }

    /// Applies `date_trunc(unit, timestamp)`.
    #[must_use]
    pub fn truncate(self, unit: TruncUnit) -> Option<Self> {
        self.over(TIMESTAMP, TIMESTAMP, |of| ExprNode::Truncate(unit, of))
    }

    /// Applies `date_part(field, date | timestamp | time)`.
    #[must_use]
    pub fn part(self, field: ExtractField) -> Option<Self> {
        // date_part treats a date as its midnight.
        let of = if self.ty == KeyType::Date { self.cast(&TIMESTAMP)? } else { self };
        let known = field.is_of(&of.ty);
        known.then(|| Self { node: ExprNode::Part(field, Box::new(of)), ty: KeyType::Float8 })
    }

    /// Applies `EXTRACT(field FROM date | timestamp | time)`, which returns a numeric from PostgreSQL 14 on.
    #[must_use]
    pub fn extract(self, field: ExtractField) -> Option<Self> {
        let known = field.is_of(&self.ty);
        // EXTRACT supports no time of day for a date.
        let of = if self.ty == KeyType::Date { self.cast(&TIMESTAMP)? } else { self };
        known.then(|| Self { node: ExprNode::Part(field, Box::new(of)), ty: NUMERIC })
    }

    /// Applies `date_bin(stride, timestamp, origin)`, with `stride` in microseconds and `origin` in microseconds
    /// from 2000-01-01.
    #[must_use]
    pub fn bin(self, stride: i64, origin: i64) -> Option<Self> {
        let known = stride > 0 && time::is_finite(origin);
        self.over(TIMESTAMP, TIMESTAMP, |of| ExprNode::Bin { stride, origin, of }).filter(|_| known)
    }

    /// Applies `AT TIME ZONE` with a zone `east` seconds east of UTC.
    #[must_use]
    pub fn at_time_zone(self, east: i32) -> Option<Self> {
        let (east, to) = match self.ty {
            KeyType::Timestamptz { .. } => (i64::from(east), TIMESTAMP),
            KeyType::Timestamp { .. } => (-i64::from(east), TIMESTAMPTZ),
            _ => return None,
        };
        Some(Self { node: ExprNode::Shift(east * time::USECS_PER_SECOND, Box::new(self)), ty: to })
    }

    /// Wraps this expression in a node if it is of the type `from`.
    fn over(
        self,
        from: KeyType,
        to: KeyType,
        node: impl FnOnce(Box<Self>) -> ExprNode,
    ) -> Option<Self> {
        (self.ty == from).then(|| Self { node: node(Box::new(self)), ty: to })
    }

    /// Returns the type of the result, without modifiers.
    #[must_use]
    pub fn ty(&self) -> &KeyType {
        &self.ty
    }

    /// Whether the result is of the type `ty`, apart from its modifiers.
    #[must_use]
    pub fn is_of(&self, ty: &KeyType) -> bool {
        without_modifiers(ty).as_ref() == Some(&self.ty)
    }

    /// Returns the positions in the input of the columns that the expression reads, in no particular order.
    #[must_use]
    pub fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let mut rest = vec![self];
        while let Some(next) = rest.pop() {
            match &next.node {
                ExprNode::Column { place, .. } => places.push(*place),
                _ => rest.extend(next.operands()),
            }
        }
        places
    }

    /// Returns a copy of the expression with each column moved to the position that `place` returns.
    #[must_use]
    pub fn map_columns(&self, place: &impl Fn(usize) -> usize) -> Self {
        let mut expr = self.clone();
        expr.move_columns(place);
        expr
    }

    fn move_columns(&mut self, to: &impl Fn(usize) -> usize) {
        match &mut self.node {
            ExprNode::Column { place, .. } => *place = to(*place),
            ExprNode::Constant(_) => {}
            ExprNode::Coalesce(items) => items.iter_mut().for_each(|item| item.move_columns(to)),
            ExprNode::Arithmetic(_, sides) => {
                sides.iter_mut().for_each(|side| side.move_columns(to))
            }
            ExprNode::Cut(_, text, numbers) => {
                text.move_columns(to);
                numbers.iter_mut().for_each(|number| number.move_columns(to));
            }
            ExprNode::Cast(_, of)
            | ExprNode::Case(_, of)
            | ExprNode::Negate(of)
            | ExprNode::Abs(of)
            | ExprNode::Truncate(_, of)
            | ExprNode::Part(_, of)
            | ExprNode::Bin { of, .. }
            | ExprNode::Shift(_, of) => of.move_columns(to),
        }
    }

    fn operands(&self) -> Vec<&Self> {
        match &self.node {
            ExprNode::Column { .. } | ExprNode::Constant(_) => Vec::new(),
            ExprNode::Coalesce(items) => items.iter().collect(),
            ExprNode::Arithmetic(_, sides) => sides.iter().collect(),
            ExprNode::Cut(_, text, numbers) => std::iter::once(&**text).chain(numbers).collect(),
            ExprNode::Cast(_, of)
            | ExprNode::Case(_, of)
            | ExprNode::Negate(of)
            | ExprNode::Abs(of)
            | ExprNode::Truncate(_, of)
            | ExprNode::Part(_, of)
            | ExprNode::Bin { of, .. }
            | ExprNode::Shift(_, of) => vec![of],
        }
    }

    /// Whether a change of case has the same result in every language, unlike that of an `i`. Such texts consist
    /// of digits, hyphens, the hexadecimal letters, `true` and `false`.
    fn is_common_ascii(&self) -> bool {
        match &self.node {
            ExprNode::Cast(_, of) => {
                matches!(of.ty, KeyType::Uuid | KeyType::Bool)
                    || arithmetic::limits(&of.ty).is_some()
            }
            ExprNode::Case(_, text) | ExprNode::Cut(_, text, _) => text.is_common_ascii(),
            _ => false,
        }
    }
}

const NUMERIC: KeyType = KeyType::Numeric { scale: None };
const TIMESTAMP: KeyType = KeyType::Timestamp { precision: 6 };
const TIMESTAMPTZ: KeyType = KeyType::Timestamptz { precision: 6, zone: None };

/// Returns the type without modifiers, as that of a result; `None` if expressions do not support it.
fn without_modifiers(ty: &KeyType) -> Option<KeyType> {
    Some(match ty {
        KeyType::Numeric { .. } => NUMERIC,
        KeyType::Varchar { .. } => KeyType::Varchar { max: None },
        KeyType::Bpchar { .. } => KeyType::Bpchar { max: None },
        KeyType::Time { .. } => KeyType::Time { precision: 6 },
        KeyType::Timestamp { .. } => TIMESTAMP,
        KeyType::Timestamptz { .. } => TIMESTAMPTZ,
        KeyType::Bool
        | KeyType::Int2
        | KeyType::Int4
        | KeyType::Int8
        | KeyType::Float4
        | KeyType::Float8
        | KeyType::Name
        | KeyType::Text
        | KeyType::Uuid
        | KeyType::Date => ty.clone(),
        _ => return None,
    })
}
